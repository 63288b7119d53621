#include "ballast/sim/method_preview.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"

namespace ballast::sim {
namespace {

server::MethodState copy_of(const server::MethodStateView& view) {
  server::MethodState state{.numbers = view.numbers, .vectors = {}};
  for (const server::NamedVectorView& vector : view.vectors) {
    state.vectors.push_back(
        {vector.name, vector.revision, {vector.values.begin(), vector.values.end()}});
  }
  return state;
}

}  // namespace

void MethodPreview::look_at(const server::ParameterServer& server, std::uint32_t worker,
                            const wire::Ticket& ticket) {
  server_ = &server;
  worker_ = worker;
  ticket_ = ticket;
  lifetime_counts_.clear();
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) {
    lifetime_counts_.push_back(server.worker(i).lifetime_count);
  }
}

std::span<const float> MethodPreview::direction_after(std::span<const float> update) {
  const IeeeArithmetic ieee;
  BALLAST_CHECK(server_ != nullptr, "a preview looks at a server");
  const Status is_restored = method_.restore(copy_of(server_->method().state()), lifetime_counts_);
  BALLAST_CHECK(is_restored.has_value(), "the adversary's method has the server's settings");
  const server::Snapshot& newest = server_->model();
  const std::uint64_t staleness = newest.version - ticket_.version;
  const auto staleness_max = server_->admission().staleness_max;
  if (staleness_max && staleness > *staleness_max) return {};
  const server::Answer answer = method_.on_update({.worker = worker_,
                                                   .number = server_->accepted_count() + 1,
                                                   .computed_version = ticket_.version,
                                                   .staleness = staleness,
                                                   .newest = newest,
                                                   .values = update});
  if (answer.kind != server::Answer::Kind::kDirection) return {};
  direction_.resize(update.size());
  if (answer.vector != nullptr) {
    answer.vector->read(direction_);
  } else {
    std::ranges::copy(answer.values, direction_.begin());
  }
  if (answer.scale == 1.0) return direction_;
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (float& value : direction_) {
    value = static_cast<float>(std::clamp(answer.scale * value, -kLargest, kLargest));
  }
  return direction_;
}

}  // namespace ballast::sim
