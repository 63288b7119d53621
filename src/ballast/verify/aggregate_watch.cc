#include "ballast/verify/aggregate_watch.h"

#include <algorithm>
#include <utility>

namespace ballast::verify {

AggregateWatch::AggregateWatch(const Problem& problem, Options options)
    : problem_(problem), options_(std::move(options)), counts_(options_.workers.total()) {
  for (auto* values : {&noted_.error, &noted_.honest_error, &noted_.spread, &noted_.pull}) {
    values->resize(options_.times.size());
  }
}

void AggregateWatch::on_step(const StepRecord& record) {
  direction_.assign(record.direction.begin(), record.direction.end());
  x_.assign(record.x.begin(), record.x.end());
}

Result<sim::Next> AggregateWatch::on_arrival(const sim::ArrivalRecord& record,
                                             const server::ParameterServer& server) {
  counts_[record.worker] += 1.0;
  const auto time = std::ranges::find(options_.times, record.t);
  if (time == options_.times.end()) return sim::Next::kContinue;
  WeightedRows honest;
  for (std::uint32_t i = 0; i < options_.workers.honest; ++i) {
    const std::span<const float> row = server.row(i);
    if (row.empty()) continue;
    honest.rows.emplace_back(row.begin(), row.end());
    honest.weights.push_back(counts_[i]);
  }
  note(static_cast<std::size_t>(time - options_.times.begin()), honest);
  return sim::Next::kContinue;
}

void AggregateWatch::note(std::size_t place, const WeightedRows& honest) {
  const DoubleVector mean = weighted_mean(honest);
  DoubleVector gradient(problem_.dim());
  problem_.expected_gradient(x_, gradient);
  noted_.error[place] = squared_distance(direction_, gradient);
  noted_.honest_error[place] = squared_distance(mean, gradient);
  noted_.spread[place] = weighted_spread(honest, mean);
  noted_.pull[place] = squared_distance(direction_, mean);
}

}  // namespace ballast::verify
