#include "ballast/verify/theory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ballast/base/check.h"

namespace ballast::verify {
namespace {

double square(double value) { return value * value; }

// The arrivals of one worker so far.
struct Visits {
  double given_at = 1.0;     // t of the model it computes on
  double row_made_at = 0.0;  // t of the model its row was computed on; 0 without a row
  double last = 0.0;         // t of its last arrival
  double count = 0.0;
  double spread = 1.0;  // the largest delay over the mean up to then

  void arrive(double t) {
    ++count;
    spread = std::max(spread, (t - last) * count / t);
    last = t;
    row_made_at = given_at;
    given_at = t;
  }
};

}  // namespace

double median_constant(double lambda) { return square(1.0 + lambda / (1.0 - 2.0 * lambda)); }

double ctma_constant(double lambda, double base) { return 60.0 * lambda * (1.0 + base); }

double Delays::mean_longest() const {
  return std::accumulate(longest.begin(), longest.end(), 0.0) / static_cast<double>(longest.size());
}

Delays delays_of(std::span<const sim::Arrival> arrivals, const sim::Population& workers) {
  std::vector<Visits> visits(workers.total());
  Delays delays;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const double t = static_cast<double>(i + 1);
    visits[arrivals[i].worker].arrive(t);
    double longest = 0.0;
    for (const Visits& worker : visits) {
      if (worker.row_made_at > 0.0) longest = std::max(longest, t - worker.row_made_at);
    }
    delays.longest.push_back(longest);
  }
  for (const Visits& worker : std::span(visits).first(workers.honest)) {
    delays.spread = std::max(delays.spread, worker.spread);
  }
  return delays;
}

double estimator_variance(const Constants& constants, double delay_spread) {
  return 2.0 * square(constants.deviation) +
         32.0 * square(constants.diameter * delay_spread * constants.smoothness_deviation);
}

double aggregate_error_bound(const BoundOptions& options, const Delays& delays, std::size_t t) {
  BALLAST_CHECK(t >= 1 && t <= delays.longest.size(), "a time of the run");
  const double c = options.rule_constant, time = static_cast<double>(t);
  const double m = static_cast<double>(options.worker_count);
  const double variance = estimator_variance(options.constants, delays.spread);
  const double drift =
      delays.longest[t - 1] * options.constants.diameter * options.constants.smoothness;
  const double honest =
      options.honest_weight.empty() ? options.kept * time : options.honest_weight[t - 1];
  return (12.0 * c * m + 4.0) * variance / honest + (384.0 * c + 64.0) * square(drift / time);
}

double excess_bound_by_errors(const Constants& constants, double eta,
                              std::span<const double> errors) {
  const double end = static_cast<double>(errors.size()), diameter = constants.diameter;
  double sum = square(diameter) / (2.0 * eta) + end * constants.optimum_gradient * diameter;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    sum += diameter * static_cast<double>(i + 1) * errors[i];
  }
  return 4.0 * sum / (end * (end + 1.0));
}

double excess_bound(const BoundOptions& options, const Delays& delays) {
  std::vector<double> errors;
  for (std::size_t t = 1; t <= delays.longest.size(); ++t) {
    errors.push_back(std::sqrt(aggregate_error_bound(options, delays, t)));
  }
  return excess_bound_by_errors(options.constants, options.eta, errors);
}

}  // namespace ballast::verify
