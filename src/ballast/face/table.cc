#include "ballast/table.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/face/backend.h"
#include "ballast/face/guard.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"

namespace ballast {

class RowTable::Body {
 public:
  Body(robust::RulePointer rule, std::shared_ptr<const kernels::Backend> backend,
       std::size_t rows_max, std::size_t dim)
      : table(std::move(rule), std::move(backend), rows_max, dim), dim_(dim) {}

  // In host memory: as it lies there, or read back from a device.
  Result<std::span<const float>> aggregate(std::uint64_t draw) {
    BALLAST_TRY(const kernels::Vector* result, table.aggregate(draw));
    if (const auto in_host = result->host_view(); !in_host.empty()) return in_host;
    read_back_.resize(dim_);
    result->read(read_back_);
    return std::span<const float>(read_back_);
  }

  robust::RowTable table;

 private:
  std::size_t dim_;
  std::vector<float> read_back_;
};

Result<RowTable> RowTable::make(const Rule& rule, std::size_t rows_max, std::size_t dim,
                                const Compute& compute) {
  if (rule.text().empty()) return face::moved_from("Rule");
  if (rows_max == 0 || rows_max > face::kRowsMax || dim == 0 || dim > face::kValuesMax) {
    return invalid_argument(
        fmt::format("a table of {} rows of {} values; there can be 1 to {} rows of 1 to {}",
                    rows_max, dim, face::kRowsMax, face::kValuesMax));
  }
  return face::guarded("the table", [&]() -> Result<RowTable> {
    BALLAST_TRY(auto own_rule, robust::parse_rule(rule.text()));
    BALLAST_TRY(auto backend, face::make_backend(compute));
    return RowTable(std::make_unique<Body>(std::move(own_rule), std::move(backend), rows_max, dim));
  });
}

RowTable::RowTable(std::unique_ptr<Body> body) : body_(std::move(body)) {}
RowTable::RowTable(RowTable&&) noexcept = default;
RowTable& RowTable::operator=(RowTable&&) noexcept = default;
RowTable::~RowTable() = default;

Status RowTable::put(std::size_t row, std::span<const float> values, double weight) {
  if (body_ == nullptr) return face::moved_from("RowTable");
  if (face::is_null(values)) return invalid_argument("the values are a null span");
  return face::guarded("put", [&] { return body_->table.put(row, values, weight); });
}

Status RowTable::set_weight(std::size_t row, double weight) {
  if (body_ == nullptr) return face::moved_from("RowTable");
  return body_->table.set_weight(row, weight);
}

Status RowTable::remove(std::size_t row) {
  if (body_ == nullptr) return face::moved_from("RowTable");
  body_->table.remove(row);
  return {};
}

bool RowTable::has(std::size_t row) const noexcept {
  return body_ != nullptr && body_->table.has(row);
}

std::size_t RowTable::row_count() const noexcept {
  return body_ == nullptr ? 0 : body_->table.filled_count();
}

Result<std::vector<float>> RowTable::row(std::size_t row) const {
  if (body_ == nullptr) return face::moved_from("RowTable");
  if (!has(row)) return not_found(fmt::format("row {} does not exist", row));
  return face::guarded("row", [&]() -> Result<std::vector<float>> {
    const std::span<const float> values = body_->table.row(row);
    return std::vector<float>(values.begin(), values.end());
  });
}

Result<std::span<const float>> RowTable::aggregate(std::uint64_t draw) {
  if (body_ == nullptr) return face::moved_from("RowTable");
  return face::guarded("aggregate", [&] { return body_->aggregate(draw); });
}

Report RowTable::report() const {
  if (body_ == nullptr) return {};
  const robust::Report& report = body_->table.report();
  return {.kept = report.kept, .iterations = report.iterations};
}

}  // namespace ballast
