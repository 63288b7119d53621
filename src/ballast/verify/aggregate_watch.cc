#include "ballast/verify/aggregate_watch.h"

#include <algorithm>
#include <utility>

namespace ballast::verify {

AggregateWatch::AggregateWatch(const Problem& problem, const robust::Rule& rule,
                               std::vector<std::uint64_t> times)
    : problem_(problem), rule_(rule), times_(std::move(times)), errors_(times_.size()) {}

Result<sim::Next> AggregateWatch::on_arrival(const sim::ArrivalRecord& record,
                                             const server::ParameterServer& server) {
  const auto time = std::ranges::find(times_, record.t);
  if (time == times_.end()) return sim::Next::kContinue;
  WeightedRows table;
  for (std::uint32_t i = 0; i < server.workers().size(); ++i) {
    const std::span<const float> row = server.row(i);
    if (row.empty()) continue;
    table.rows.emplace_back(row.begin(), row.end());
    table.weights.push_back(static_cast<double>(server.worker(i).weight));
  }
  BALLAST_TRY(const Vector direction, bench_.apply(rule_, table));
  Vector gradient(problem_.dim());
  problem_.expected_gradient(*record.outcome.reply.values, gradient);
  errors_[static_cast<std::size_t>(time - times_.begin())] = squared_distance(direction, gradient);
  return sim::Next::kContinue;
}

}  // namespace ballast::verify
