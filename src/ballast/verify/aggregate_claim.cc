// Lemma 4.1: how the error of the aggregated estimate falls under attack.
//
// The proof splits it: E|d - grad f|^2 <= 2 E|d - d_G|^2 + 2 E|d_G - grad f|^2, where the rule's
// robustness gives |d - d_G|^2 <= c rho^2, and the spread rho^2 of the honest rows and the error of
// their mean d_G fall like 1 / t. Each step is checked. The slope of the whole error is not: while
// the gradient is larger than the noise, liars that mirror it stand out and are trimmed; later they
// hide among the honest rows, and t times the error rises once, to a second level. The lemma bounds
// both levels.

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
// The delays of slow workers no longer count then.
constexpr std::uint64_t kFirstTime = 256;

struct Setting {
  double lambda = 0.0;
  const char* attack = "none";
};

constexpr Setting kSettings[] = {{0.0, "none"},      {0.1, "little"}, {0.3, "little"},
                                 {0.3, "sign-flip"}, {0.4, "empire"}, {0.4, "scaled"}};

struct Errors {
  AggregateWatch::Noted noted{};
  std::vector<double> bounds{};
};

Result<Errors> measure(const Lab& lab, const Setting& setting,
                       const std::vector<std::uint64_t>& times, std::uint64_t seed) {
  LeastSquares problem = noisy_least_squares();
  TrialOptions trial = attacked_trial(setting.lambda, setting.attack);
  trial.updates = times.back();
  trial.seed = seed;
  BALLAST_TRY(const auto rule, lab.components.make_rule(trial.rule));
  AggregateWatch watch(problem, *rule, {.workers = kWorkers, .times = times});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  const Delays delays = delays_of(result.arrivals, kWorkers);
  const BoundOptions options{.constants = problem.constants(),
                             .rule_constant = constant_of_ctma(setting.lambda),
                             .worker_count = kWorkers.total(),
                             .kept = 1.0 - setting.lambda};
  Errors errors{.noted = watch.noted()};
  for (const std::uint64_t t : times) {
    errors.bounds.push_back(aggregate_error_bound(options, delays, t));
  }
  return errors;
}

// One of the noted numbers in all seeds.
using Samples = std::vector<std::vector<double>>;

Samples samples_of(std::span<const Errors> seeds,
                   std::vector<double> AggregateWatch::Noted::*what) {
  Samples samples;
  for (const Errors& errors : seeds) samples.push_back(errors.noted.*what);
  return samples;
}

// The largest ratio of the values, point by point.
double largest_ratio(std::span<const double> values, std::span<const double> limits) {
  double largest = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i)
    largest = std::max(largest, values[i] / limits[i]);
  return largest;
}

void judge_slope(const std::string& what, const std::vector<double>& times, const Samples& samples,
                 Findings& findings) {
  findings.checks.push_back(
      {.what = what + ": slope in t",
       .measured = over_groups(
           samples, kGroups, [&](std::span<const double> mean) { return log_slope(times, mean); }),
       .limit = -1.0 + kSlopeTolerance,
       .reason = "-1, tolerance 0.1"});
}

void judge(const Setting& setting, const std::vector<double>& times, std::span<const Errors> seeds,
           Findings& findings) {
  using Noted = AggregateWatch::Noted;
  const std::string label = attack_label(setting.lambda, setting.attack);
  const Samples spread = samples_of(seeds, &Noted::spread), pull = samples_of(seeds, &Noted::pull);
  judge_slope(label + ": E rho^2", times, spread, findings);
  judge_slope(label + ": E|d_G - grad f|^2", times, samples_of(seeds, &Noted::honest_error),
              findings);
  double largest = 0.0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    largest = std::max(largest, largest_ratio(pull[i], spread[i]));
  }
  constexpr double kRounding = 1e-6;  // at lambda = 0, where c = 0
  findings.checks.push_back({.what = label + ": largest |d - d_G|^2 / rho^2",
                             .measured = Estimate::exactly(largest),
                             .limit = std::max(kRounding, constant_of_ctma(setting.lambda)),
                             .reason = "c = 60 lambda (1 + c of gm)"});
  Samples bounds;
  for (const Errors& errors : seeds) bounds.push_back(errors.bounds);
  const std::vector<double> error = pointwise_mean(samples_of(seeds, &Noted::error));
  findings.checks.push_back(
      {.what = label + ": E|d - grad f|^2, largest share of the bound",
       .measured = Estimate::exactly(largest_ratio(error, pointwise_mean(bounds))),
       .limit = 1.0,
       .reason = "the lemma with the proof's factors"});
}

}  // namespace

Result<Findings> check_aggregate(const Lab& lab) {
  const std::size_t seeds = lab.pick(16, 80);
  const std::vector<std::uint64_t> times = doublings(kFirstTime, lab.pick(4096, 16'384));
  BALLAST_TRY(const auto errors, run_all(lab, std::size(kSettings) * seeds, [&](std::size_t i) {
                return measure(lab, kSettings[i / seeds], times, i % seeds + 1);
              }));
  Findings findings;
  records::Figure figure{.stem = "aggregate",
                         .title = "E|d_t - grad f(x_t)|^2 with ctma(gm)",
                         .x_label = "updates t",
                         .y_label = "mean squared error"};
  for (std::size_t i = 0; i < std::size(kSettings); ++i) {
    const std::span of_setting = std::span(errors).subspan(i * seeds, seeds);
    judge(kSettings[i], as_numbers(times), of_setting, findings);
    figure.curves.push_back(
        {.label = attack_label(kSettings[i].lambda, kSettings[i].attack),
         .x = as_numbers(times),
         .y = pointwise_mean(samples_of(of_setting, &AggregateWatch::Noted::error))});
  }
  const records::FigureCurve& first = figure.curves[0];
  figure.curves.push_back(guide("slope -1", first.x, first.y[0], -1.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
