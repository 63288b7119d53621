#include "ballast/server/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"

namespace ballast::server {
namespace {

constexpr std::uint64_t kCountEnd = std::uint64_t{1} << 40;  // as assign_weights() wants them

Status check_vector(std::span<const float> values, std::size_t size, std::string_view name) {
  if (values.size() != size) {
    return invalid_argument(fmt::format("{} has {} values, not {}", name, values.size(), size));
  }
  if (!kernels::all_finite(values)) return invalid_argument(fmt::format("{} is not finite", name));
  return {};
}

// Whether the numbers can belong to one worker of a server that took so many steps.
bool is_consistent(const WorkerRecord& record, std::uint64_t steps) {
  const std::uint64_t lifetime = record.lifetime_count();
  return lifetime < kCountEnd && record.count <= lifetime && lifetime <= record.sequence &&
         record.staleness <= steps && record.given.value_or(0) <= steps &&
         std::isfinite(record.kept);
}

Status check_worker(const WorkerState& worker, std::size_t number, std::uint64_t steps,
                    std::size_t dim, std::size_t statistic_count) {
  if (!is_consistent(worker.record, steps)) {
    return invalid_argument(fmt::format("the record of worker {} contradicts itself", number));
  }
  const bool has_row = worker.record.count > 0;
  BALLAST_TRY_STATUS(
      check_vector(worker.row, has_row ? dim : 0, fmt::format("the row of worker {}", number)));
  return check_vector(worker.statistics, has_row ? statistic_count : 0,
                      fmt::format("the statistics of worker {}", number));
}

Status check_counts(const ServerState& state) {
  std::uint64_t sum = 0;
  for (const WorkerState& worker : state.workers) sum += worker.record.lifetime_count();
  if (sum == state.accepted_count && state.optimizer.steps <= sum) return {};
  return invalid_argument(
      fmt::format("{} accepted updates and {} steps do not follow from counts that add up to {}",
                  state.accepted_count, state.optimizer.steps, sum));
}

Status check(const ServerState& state, const ServerOptions& options, std::size_t dim) {
  if (state.workers.size() != options.worker_count) {
    return invalid_argument(fmt::format("the state is one of {} workers; this server has {}",
                                        state.workers.size(), options.worker_count));
  }
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    BALLAST_TRY_STATUS(
        check_worker(state.workers[i], i, state.optimizer.steps, dim, options.statistic_count));
  }
  BALLAST_TRY_STATUS(check_counts(state));
  return check_vector(state.centre, state.centre.empty() ? 0 : dim, "the centre");
}

}  // namespace

ServerStateView ParameterServer::state() const {
  const optim::ServerStateView<float> optimizer = optimizer_->view();
  ServerStateView view = {.accepted_count = accepted_count_,
                          .unknown_count = unknown_count_,
                          .steps = optimizer.steps,
                          .w = optimizer.w,
                          .x = optimizer.x,
                          .centre = table_.centre(),
                          .workers = {}};
  view.workers.reserve(workers_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    view.workers.push_back(
        {.record = workers_[i], .row = table_.row(i), .statistics = statistics_[i]});
  }
  return view;
}

Status ParameterServer::restore(ServerState state) {
  BALLAST_TRY_STATUS(check(state, options_, dim()));
  BALLAST_TRY_STATUS(optimizer_->restore(std::move(state.optimizer)));
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    WorkerState& worker = state.workers[i];
    table_.remove(i);
    if (worker.record.count > 0) {
      const Status is_put = table_.put(i, worker.row, 1.0);
      BALLAST_CHECK(is_put.has_value(), "a checked row fits the table");
    }
    worker.row = {};  // each row is in memory twice only while it is copied
    workers_[i] = worker.record;
    counts_[i] = worker.record.count;
    statistics_[i] = std::move(worker.statistics);
  }
  table_.set_centre(state.centre);
  accepted_count_ = state.accepted_count;
  unknown_count_ = state.unknown_count;
  publish();
  return weigh();
}

ServerStateView ServerState::view() const {
  ServerStateView view = {.accepted_count = accepted_count,
                          .unknown_count = unknown_count,
                          .steps = optimizer.steps,
                          .w = optimizer.w,
                          .x = optimizer.x,
                          .centre = centre,
                          .workers = {}};
  view.workers.reserve(workers.size());
  for (const WorkerState& worker : workers) {
    view.workers.push_back(
        {.record = worker.record, .row = worker.row, .statistics = worker.statistics});
  }
  return view;
}

ServerState copy(const ServerStateView& view) {
  const auto owned = [](std::span<const float> values) {
    return std::vector<float>(values.begin(), values.end());
  };
  ServerState state = {.accepted_count = view.accepted_count,
                       .unknown_count = view.unknown_count,
                       .optimizer = {.steps = view.steps, .w = owned(view.w), .x = owned(view.x)},
                       .centre = owned(view.centre),
                       .workers = {}};
  state.workers.reserve(view.workers.size());
  for (const WorkerStateView& worker : view.workers) {
    state.workers.push_back({.record = worker.record,
                             .row = owned(worker.row),
                             .statistics = owned(worker.statistics)});
  }
  return state;
}

}  // namespace ballast::server
