#include "ballast/server/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"

namespace ballast::server {
namespace {

Status check_vector(std::span<const float> values, std::size_t size, std::string_view name) {
  if (values.size() != size) {
    return invalid_argument(fmt::format("{} has {} values, not {}", name, values.size(), size));
  }
  if (!kernels::all_finite(values)) return invalid_argument(fmt::format("{} is not finite", name));
  return {};
}

Status check_counts(const ServerState& state) {
  std::uint64_t sum = 0;
  for (const SenderRecord& sender : state.senders) sum += sender.lifetime_count();
  if (sum == state.accepted_count && state.optimizer.steps <= sum) return {};
  return invalid_argument(
      fmt::format("{} accepted updates and {} steps do not follow from counts that add up to {}",
                  state.accepted_count, state.optimizer.steps, sum));
}

Status check_statistics(const ServerState& state, std::size_t statistic_count) {
  if (state.statistics.size() != state.senders.size()) {
    return invalid_argument(fmt::format("statistics of {} workers, but {} workers",
                                        state.statistics.size(), state.senders.size()));
  }
  for (std::size_t i = 0; i < state.statistics.size(); ++i) {
    const std::vector<float>& values = state.statistics[i];
    BALLAST_TRY_STATUS(check_vector(values, values.empty() ? 0 : statistic_count,
                                    fmt::format("the statistics of worker {}", i)));
  }
  const std::size_t last = state.last_statistics.empty() ? 0 : statistic_count;
  return check_vector(state.last_statistics, last, "the last statistics");
}

std::vector<std::uint64_t> lifetime_counts(std::span<const SenderRecord> senders) {
  std::vector<std::uint64_t> counts(senders.size());
  std::ranges::transform(senders, counts.begin(), &SenderRecord::lifetime_count);
  return counts;
}

std::vector<float> owned(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

ServerStateView ParameterServer::state() const {
  const optim::OptimizerStateView<float> optimizer = optimizer_->view();
  ServerStateView view = {.accepted_count = accepted_count_,
                          .unknown_count = unknown_count_,
                          .steps = optimizer.steps,
                          .w = optimizer.w,
                          .x = optimizer.x,
                          .senders = {admission_.senders().begin(), admission_.senders().end()},
                          .statistics = {statistics_.begin(), statistics_.end()},
                          .last_statistics = {},
                          .method = method_->description(),
                          .method_state = method_->state()};
  if (last_statistics_) view.last_statistics = *last_statistics_;
  return view;
}

// Everything is checked before anything is changed; the parts check what is theirs.
Status ParameterServer::restore(ServerState state) {
  if (state.method != method_->description()) {
    return invalid_argument(fmt::format("the state is one of the method {}, this server's is {}",
                                        state.method, method_->description()));
  }
  BALLAST_TRY_STATUS(check_vector(state.optimizer.w, dim(), "w"));
  BALLAST_TRY_STATUS(check_vector(state.optimizer.x, optimizer_->view().x.size(), "x"));
  BALLAST_TRY_STATUS(check_counts(state));
  BALLAST_TRY_STATUS(check_statistics(state, options_.statistic_count));
  Admission admission = admission_;
  BALLAST_TRY_STATUS(admission.restore(state.senders, state.optimizer.steps));
  BALLAST_TRY_STATUS(
      method_->restore(std::move(state.method_state), lifetime_counts(state.senders)));
  const Status is_restored = optimizer_->restore(std::move(state.optimizer));
  BALLAST_CHECK(is_restored.has_value(), "a checked state fits the optimizer");
  admission_ = std::move(admission);
  statistics_ = std::move(state.statistics);
  statistics_.resize(options_.worker_count);
  last_statistics_.reset();
  if (!state.last_statistics.empty()) last_statistics_ = std::move(state.last_statistics);
  accepted_count_ = state.accepted_count;
  unknown_count_ = state.unknown_count;
  publish();
  return {};
}

ServerStateView ServerState::view() const {
  ServerStateView view = {.accepted_count = accepted_count,
                          .unknown_count = unknown_count,
                          .steps = optimizer.steps,
                          .w = optimizer.w,
                          .x = optimizer.x,
                          .senders = senders,
                          .statistics = {statistics.begin(), statistics.end()},
                          .last_statistics = last_statistics,
                          .method = method,
                          .method_state = {.numbers = method_state.numbers, .vectors = {}}};
  for (const NamedVector& vector : method_state.vectors) {
    view.method_state.vectors.push_back({vector.name, vector.revision, vector.values});
  }
  return view;
}

ServerState copy(const ServerStateView& view) {
  ServerState state = {.accepted_count = view.accepted_count,
                       .unknown_count = view.unknown_count,
                       .optimizer = {.steps = view.steps, .w = owned(view.w), .x = owned(view.x)},
                       .senders = view.senders,
                       .statistics = {},
                       .last_statistics = owned(view.last_statistics),
                       .method = view.method,
                       .method_state = {.numbers = view.method_state.numbers, .vectors = {}}};
  for (const auto values : view.statistics) state.statistics.push_back(owned(values));
  for (const NamedVectorView& vector : view.method_state.vectors) {
    state.method_state.vectors.push_back({vector.name, vector.revision, owned(vector.values)});
  }
  return state;
}

}  // namespace ballast::server
