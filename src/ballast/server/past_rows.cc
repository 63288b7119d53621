#include "ballast/server/past_rows.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"

namespace ballast::server {

PastRows::PastRows(robust::RulePointer rule, std::shared_ptr<const kernels::Backend> backend,
                   std::size_t worker_count, std::size_t dim, std::uint64_t updates)
    : backend_(std::move(backend)),
      worker_count_(worker_count),
      share_min_(1.0 / static_cast<double>(updates)),
      table_(std::move(rule), backend_, worker_count, dim),
      before_(backend_->make_vector(dim)),
      difference_(backend_->make_vector(dim)),
      average_(backend_->make_vector(dim)),
      buffer_(dim, worker_count) {}

void PastRows::follow(const robust::RowTable& latest, std::size_t worker, std::uint64_t count) {
  const IeeeArithmetic ieee;
  compare(latest, worker);
  const bool is_in_buffer = average_->borrow(buffer_.values());
  // Between finite floats an average is finite.
  if (table_.has(worker)) {
    table_.copy_row(worker, *before_);
    const double share = std::max(share_min_, 1.0 / static_cast<double>(count));
    backend_->average(*difference_, *before_, share, *average_);
  } else {
    backend_->average(*difference_, *difference_, 1.0, *average_);
  }
  if (!is_in_buffer) average_->read(buffer_.values());
  const Status is_put = table_.put(
      worker, kernels::Incoming{.values = buffer_.values(), .memory = &buffer_, .is_checked = true},
      1.0);
  BALLAST_CHECK(is_put.has_value(), "an average of finite rows fits the table");
}

// The row less the direction.
void PastRows::compare(const robust::RowTable& latest, std::size_t worker) {
  const kernels::Vector* const direction = latest.last_result();
  if (direction == nullptr) return latest.copy_row(worker, *difference_);
  latest.copy_row(worker, *before_);
  if (!backend_->descend(*before_, *direction, 1.0, *difference_)) saturate(*difference_);
}

void PastRows::saturate(kernels::Vector& vector) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::span<float> values = buffer_.values();
  vector.read(values);
  for (float& value : values) value = std::clamp(value, -kMax, kMax);
  vector.write(values);
}

}  // namespace ballast::server
