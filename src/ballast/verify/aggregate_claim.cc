// Lemma 4.1: how the error of the aggregated estimate falls under attack.
//
// While the gradient is larger than the noise of the rows, liars stand out and are trimmed; once it
// is smaller they hide among the honest rows, and t times the error rises to a second, higher
// level. The lemma bounds both. The noise here is large enough for liars to hide from the start, so
// that one slope describes all of a run.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ballast/verify/aggregate_watch.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr std::size_t kGroups = 8;  // of seeds, for the confidence of a slope

struct Setting {
  double lambda = 0.0;
  const char* attack = "none";
};

constexpr Setting kSettings[] = {{0.0, "none"},      {0.1, "little"}, {0.3, "little"},
                                 {0.3, "sign-flip"}, {0.4, "empire"}, {0.4, "scaled"}};

struct Errors {
  std::vector<double> squared{};
  std::vector<double> bounds{};
};

LeastSquares very_noisy_least_squares() {
  return LeastSquares(
      {.dim = kDim, .smallest_curvature = 0.1, .model_noise = 0.3, .constant_noise = 5.0});
}

Result<Errors> measure(const Lab& lab, const Setting& setting,
                       const std::vector<std::uint64_t>& times, std::uint64_t seed) {
  LeastSquares problem = very_noisy_least_squares();
  TrialOptions trial = attacked_trial(setting.lambda, setting.attack);
  trial.updates = times.back();
  trial.seed = seed;
  BALLAST_TRY(const auto rule, lab.components.make_rule(trial.rule));
  AggregateWatch watch(problem, *rule, times);
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  const Delays delays = delays_of(result.arrivals, kWorkers);
  const BoundOptions options{.constants = problem.constants(),
                             .rule_constant = constant_of_ctma(setting.lambda),
                             .worker_count = kWorkers.total(),
                             .kept = 1.0 - setting.lambda};
  Errors errors{.squared = watch.errors()};
  for (const std::uint64_t t : times) {
    errors.bounds.push_back(aggregate_error_bound(options, delays, t));
  }
  return errors;
}

records::FigureCurve judge(const std::string& label, const std::vector<double>& times,
                           std::span<const Errors> seeds, Findings& findings) {
  std::vector<std::vector<double>> errors, bounds;
  for (const Errors& one : seeds) {
    errors.push_back(one.squared);
    bounds.push_back(one.bounds);
  }
  const std::vector<double> error = pointwise_mean(errors), bound = pointwise_mean(bounds);
  double largest = 0.0;
  for (std::size_t k = 0; k < error.size(); ++k) largest = std::max(largest, error[k] / bound[k]);
  const Estimate slope = over_groups(
      errors, kGroups, [&](std::span<const double> mean) { return log_slope(times, mean); });
  findings.checks.push_back({.what = label + ": slope in t",
                             .measured = slope,
                             .limit = -1.0 + kSlopeTolerance,
                             .reason = "-1, tolerance 0.1"});
  findings.checks.push_back({.what = label + ": largest share of the bound",
                             .measured = Estimate::exactly(largest),
                             .limit = 1.0,
                             .reason = "the lemma with the proof's factors"});
  return {.label = label, .x = times, .y = error};
}

}  // namespace

Result<Findings> check_aggregate(const Lab& lab) {
  const std::size_t seeds = lab.pick(16, 80);
  const std::vector<std::uint64_t> times = doublings(64, lab.pick(2048, 8192));
  BALLAST_TRY(const auto errors, run_all(lab, std::size(kSettings) * seeds, [&](std::size_t i) {
                return measure(lab, kSettings[i / seeds], times, i % seeds + 1);
              }));
  Findings findings;
  records::Figure figure{.stem = "aggregate",
                         .title = "E|d_t - grad f(x_t)|^2 with ctma(gm)",
                         .x_label = "updates t",
                         .y_label = "mean squared error"};
  for (std::size_t i = 0; i < std::size(kSettings); ++i) {
    figure.curves.push_back(judge(attack_label(kSettings[i].lambda, kSettings[i].attack),
                                  as_numbers(times), std::span(errors).subspan(i * seeds, seeds),
                                  findings));
  }
  const records::FigureCurve& first = figure.curves[0];
  figure.curves.push_back(guide("slope -1", first.x, first.y[0], -1.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
