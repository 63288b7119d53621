#include "ballast/verify/query_watch.h"

#include <algorithm>
#include <cmath>

namespace ballast::verify {
namespace {

DoubleVector as_vector(std::span<const float> values) {
  return DoubleVector(values.begin(), values.end());
}

double distance(std::span<const double> a, std::span<const double> b) {
  return std::sqrt(squared_distance(a, b));
}

double first_numbers(double t) { return t * (t + 1.0) / 2.0; }

}  // namespace

void QueryWatch::Share::note(double length, double bound, double longest) {
  if (!(bound < longest) || bound == 0.0) return;
  measured = std::max(measured, length / bound);
  possible = std::max(possible, longest / bound);
}

QueryWatch::QueryWatch(const Problem& problem, const sim::Population& workers)
    : problem_(problem), population_(workers), workers_(workers.total()) {
  for (Watched& worker : workers_) worker.given = problem.start();
}

void QueryWatch::on_step(const StepRecord& record) { x_.assign(record.x.begin(), record.x.end()); }

Result<sim::Next> QueryWatch::on_arrival(const sim::ArrivalRecord& record,
                                         const server::ParameterServer&) {
  const double t = static_cast<double>(record.t);
  Watched& worker = workers_[record.worker];
  worker.row_model = std::move(worker.given);
  worker.row_made_at = worker.given_at;
  worker.given = *record.reply.values;
  worker.given_at = t;
  worker.count += 1.0;
  compare_models(t);
  compare_gradients(t);
  return sim::Next::kContinue;
}

void QueryWatch::compare_models(double t) {
  const double diameter = problem_.constants().diameter;
  const DoubleVector x = as_vector(x_);
  for (const Watched& worker : workers_) {
    if (worker.row_model.empty()) continue;
    const double moved = distance(x, as_vector(worker.row_model));
    const double delay = t - worker.row_made_at;
    shares_.distance.note(moved, 4.0 * diameter * delay / t, diameter);
    const double old = first_numbers(worker.row_made_at) / first_numbers(t);
    shares_.sharp.note(moved, diameter * (1.0 - old), diameter);
  }
}

void QueryWatch::compare_gradients(double t) {
  const Constants& constants = problem_.constants();
  WeightedRows gradients;
  double longest_delay = 0.0;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const Watched& worker = workers_[i];
    if (worker.row_model.empty() || population_.is_byzantine(i)) continue;
    DoubleVector gradient(problem_.dim());
    problem_.expected_gradient(worker.row_model, gradient);
    gradients.rows.push_back(std::move(gradient));
    gradients.weights.push_back(worker.count);
    longest_delay = std::max(longest_delay, t - worker.row_made_at);
  }
  if (gradients.rows.empty()) return;
  DoubleVector now(problem_.dim());
  problem_.expected_gradient(x_, now);
  const DoubleVector mean = weighted_mean(gradients);
  const double most = constants.diameter * constants.smoothness;
  const double unit = longest_delay * most / t;
  shares_.bias.note(distance(mean, now), 4.0 * unit, most);
  for (const DoubleVector& gradient : gradients.rows) {
    shares_.worker_bias.note(distance(gradient, mean), 8.0 * unit, most);
  }
}

}  // namespace ballast::verify
