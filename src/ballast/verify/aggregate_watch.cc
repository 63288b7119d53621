#include "ballast/verify/aggregate_watch.h"

#include <algorithm>
#include <utility>

namespace ballast::verify {

AggregateWatch::AggregateWatch(const Problem& problem, const robust::Rule& rule, Options options)
    : problem_(problem), rule_(rule), options_(std::move(options)) {
  for (auto* values : {&noted_.error, &noted_.honest_error, &noted_.spread, &noted_.pull}) {
    values->resize(options_.times.size());
  }
}

Result<sim::Next> AggregateWatch::on_arrival(const sim::ArrivalRecord& record,
                                             const server::ParameterServer& server) {
  const auto time = std::ranges::find(options_.times, record.t);
  if (time == options_.times.end()) return sim::Next::kContinue;
  WeightedRows rows, honest;
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) {
    const std::span<const float> row = server.row(i);
    if (row.empty()) continue;
    const auto weight = static_cast<double>(server.worker(i).weight);
    for (WeightedRows* const table : {&rows, &honest}) {
      if (table == &honest && options_.workers.is_byzantine(i)) continue;
      table->rows.emplace_back(row.begin(), row.end());
      table->weights.push_back(weight);
    }
  }
  const auto place = static_cast<std::size_t>(time - options_.times.begin());
  BALLAST_TRY_STATUS(note(place, rows, honest, *record.reply.values));
  return sim::Next::kContinue;
}

Status AggregateWatch::note(std::size_t place, const WeightedRows& rows, const WeightedRows& honest,
                            std::span<const float> model) {
  BALLAST_TRY(const Vector direction, bench_.apply(rule_, rows));
  const Vector mean = weighted_mean(honest);
  Vector gradient(problem_.dim());
  problem_.expected_gradient(model, gradient);
  noted_.error[place] = squared_distance(direction, gradient);
  noted_.honest_error[place] = squared_distance(mean, gradient);
  noted_.spread[place] = weighted_spread(honest, mean);
  noted_.pull[place] = squared_distance(direction, mean);
  return {};
}

}  // namespace ballast::verify
