// Theorem 4.1, the identity in its proof, and Lemma 4.1.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ballast/verify/aggregate_watch.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/least_squares.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"

namespace ballast::verify {
namespace {

using sim::ScheduleKind;

constexpr sim::Population kWorkers{.honest = 6, .byzantine = 2};
constexpr double kShare = 0.2;
constexpr ScheduleKind kSchedules[] = {ScheduleKind::kRoundRobin, ScheduleKind::kUniform,
                                       ScheduleKind::kId, ScheduleKind::kIdSquared};
// Slopes are fitted over a few octaves of a few hundred updates; their own curvature there, from
// the start's transient, is below this.
constexpr double kSlopeTolerance = 0.1;

LeastSquares noisy_least_squares() {
  return LeastSquares(
      {.dim = 10, .smallest_curvature = 0.25, .model_noise = 0.5, .constant_noise = 1.0});
}

TrialOptions attacked_trial(ScheduleKind schedule, std::size_t updates, std::uint64_t seed) {
  return {.workers = kWorkers,
          .schedule = schedule,
          .share = kShare,
          .rule = fmt::format("ctma(gm, {})", kShare),
          .attack = "sign-flip",
          .updates = updates,
          .seed = seed};
}

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> powers;
  for (std::uint64_t power = first; power <= last; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<double> as_numbers(std::span<const std::uint64_t> values) {
  return std::vector<double>(values.begin(), values.end());
}

// ---- the identity

Result<double> identity_gap(const Lab& lab, Problem& problem, ScheduleKind schedule) {
  const TrialOptions trial = attacked_trial(schedule, lab.pick(600, 3000), 1);
  EstimatorWatch watch(problem, {.workers = kWorkers, .seed = trial.seed, .checks_identity = true});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(problem, trial, lab.components, observers));
  return watch.identity_gap();
}

// ---- Theorem 4.1

struct Errors {
  std::vector<double> rows;  // E|eps_i|^2 at the counts
  std::vector<double> mean;  // of the weighted mean, at the counts of honest arrivals
  double delay_spread = 1.0;
};

struct EstimatorSetting {
  std::string label;
  ScheduleKind schedule = ScheduleKind::kUniform;
  optim::EstimatorOptions estimator = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
  bool is_mu2 = true;
};

std::vector<EstimatorSetting> estimator_settings() {
  std::vector<EstimatorSetting> settings;
  for (const ScheduleKind schedule : kSchedules) {
    settings.push_back(
        {.label = fmt::format("mu2, {}", sim::name(schedule)), .schedule = schedule});
  }
  settings.push_back({.label = "SGD", .estimator = optim::SgdEstimator{}, .is_mu2 = false});
  settings.push_back(
      {.label = "momentum 0.9", .estimator = optim::MomentumEstimator{}, .is_mu2 = false});
  return settings;
}

Result<Errors> measure_errors(const Lab& lab, const EstimatorSetting& setting,
                              std::span<const std::uint64_t> counts, std::uint64_t seed) {
  LeastSquares problem = noisy_least_squares();
  TrialOptions trial = attacked_trial(setting.schedule, lab.pick(1500, 6000), seed);
  trial.estimator = setting.estimator;
  EstimatorWatch watch(
      problem, {.workers = kWorkers, .seed = seed, .counts = {counts.begin(), counts.end()}});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  return Errors{.rows = watch.row_errors(),
                .mean = watch.mean_errors(),
                .delay_spread = delays_of(result.arrivals, kWorkers).spread};
}

// What was measured in all seeds of one setting.
struct ErrorCurves {
  std::vector<std::vector<double>> rows{};  // by seed
  std::vector<std::vector<double>> mean{};
  double delay_spread = 1.0;  // mean over the seeds
};

ErrorCurves gather(std::span<const Errors> seeds) {
  ErrorCurves curves{.delay_spread = 0.0};
  for (const Errors& errors : seeds) {
    curves.rows.push_back(errors.rows);
    curves.mean.push_back(errors.mean);
    curves.delay_spread += errors.delay_spread / static_cast<double>(seeds.size());
  }
  return curves;
}

// The largest value of count * error over the theorem's sigma~^2.
double largest_share(std::span<const double> counts, std::span<const double> errors,
                     double variance) {
  double largest = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    largest = std::max(largest, counts[i] * errors[i] / variance);
  }
  return largest;
}

// One of the theorem's two errors.
void judge_errors(const std::string& what, bool is_mu2, double variance,
                  std::span<const double> counts, std::span<const std::vector<double>> errors,
                  Findings& findings) {
  constexpr std::size_t kGroups = 8;
  const Estimate slope = over_groups(
      errors, kGroups, [&](std::span<const double> mean) { return log_slope(counts, mean); });
  if (!is_mu2) {
    findings.checks.push_back({.what = what + ": slope",
                               .measured = slope,
                               .relation = Relation::kAtLeast,
                               .limit = -0.5,
                               .reason = "not the -1 of mu2, nor half of it"});
    return;
  }
  findings.checks.push_back({.what = what + ": slope",
                             .measured = slope,
                             .limit = -1.0 + kSlopeTolerance,
                             .reason = "-1, tolerance 0.1"});
  findings.checks.push_back(
      {.what = what + ": largest share of the bound",
       .measured = Estimate::exactly(largest_share(counts, pointwise_mean(errors), variance)),
       .limit = 1.0,
       .reason = "sigma~^2 = 2 sigma^2 + 32 D^2 K^2 sigma_L^2"});
}

records::Figure error_figure(const char* stem, const char* title, const char* x_label) {
  return {.stem = stem, .title = title, .x_label = x_label, .y_label = "mean squared error"};
}

// ---- Lemma 4.1

struct AggregateSetting {
  double lambda = 0.0;
  std::string attack = "none";

  std::string label() const {
    return lambda == 0.0 ? "no attack" : fmt::format("{}, lambda {}", attack, lambda);
  }
};

struct AggregateErrors {
  std::vector<double> errors;
  std::vector<double> bounds;
};

Result<AggregateErrors> measure_aggregate(const Lab& lab, const AggregateSetting& setting,
                                          std::span<const std::uint64_t> times,
                                          std::uint64_t seed) {
  LeastSquares problem = noisy_least_squares();
  TrialOptions trial = attacked_trial(ScheduleKind::kId, times.back(), seed);
  trial.share = setting.lambda;
  trial.attack = setting.attack;
  trial.rule = fmt::format("ctma(gm, {})", setting.lambda);
  BALLAST_TRY(const auto rule, lab.components.make_rule(trial.rule));
  AggregateWatch watch(problem, *rule, {times.begin(), times.end()});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  const Delays delays = delays_of(result.arrivals, kWorkers);
  const BoundOptions options{
      .constants = problem.constants(),
      .rule_constant = ctma_constant(setting.lambda, median_constant(setting.lambda)),
      .worker_count = kWorkers.total(),
      .kept = 1.0 - setting.lambda};
  AggregateErrors measured{.errors = watch.errors(), .bounds = {}};
  for (const std::uint64_t t : times) {
    measured.bounds.push_back(aggregate_error_bound(options, delays, t));
  }
  return measured;
}

}  // namespace

Result<Findings> check_martingale(const Lab& lab) {
  // A row is rounded to float at each update, and s eps weighs that by s: a relative 2^-24 each,
  // adding up to less than this over a thousand updates.
  constexpr double kRounding = 1e-4;
  LeastSquares least_squares = noisy_least_squares();
  Logistic logistic({});
  Findings findings;
  for (const ScheduleKind schedule : kSchedules) {
    for (Problem* const problem :
         {static_cast<Problem*>(&least_squares), static_cast<Problem*>(&logistic)}) {
      BALLAST_TRY(const double gap, identity_gap(lab, *problem, schedule));
      findings.checks.push_back(
          {.what = fmt::format("{}, {}: largest |s eps - sum M| / (s |g|)",
                               problem == &logistic ? "logistic regression" : "least squares",
                               sim::name(schedule)),
           .measured = Estimate::exactly(gap),
           .limit = kRounding,
           .reason = "rounding"});
    }
  }
  return findings;
}

Result<Findings> check_estimator(const Lab& lab) {
  const std::size_t seeds = lab.pick(32, 160);
  const std::vector<EstimatorSetting> settings = estimator_settings();
  const std::vector<std::uint64_t> counts = powers_of_two(8, lab.pick(64, 256));
  BALLAST_TRY(const auto measured, run_all(lab, settings.size() * seeds, [&](std::size_t i) {
                return measure_errors(lab, settings[i / seeds], counts, i % seeds + 1);
              }));
  Findings findings;
  auto rows = error_figure("estimator-rows", "E|eps_i|^2 of one worker", "updates s of the worker");
  auto means = error_figure("estimator-mean", "E|sum_G s_i eps_i / t_G|^2", "honest updates t_G");
  const std::vector<double> x = as_numbers(counts);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& [label, schedule, estimator, is_mu2] = settings[i];
    const ErrorCurves curves = gather(std::span(measured).subspan(i * seeds, seeds));
    const double variance =
        estimator_variance(noisy_least_squares().constants(), curves.delay_spread);
    judge_errors(label + ", one worker", is_mu2, variance, x, curves.rows, findings);
    judge_errors(label + ", weighted mean", is_mu2, variance, x, curves.mean, findings);
    rows.curves.push_back({.label = label, .x = x, .y = pointwise_mean(curves.rows)});
    means.curves.push_back({.label = label, .x = x, .y = pointwise_mean(curves.mean)});
  }
  rows.curves.push_back(guide("slope -1", x, rows.curves[0].y[0], -1.0));
  means.curves.push_back(guide("slope -1", x, means.curves[0].y[0], -1.0));
  findings.figures = {std::move(rows), std::move(means)};
  return findings;
}

Result<Findings> check_aggregate(const Lab& lab) {
  constexpr std::size_t kGroups = 8;
  const AggregateSetting settings[] = {
      {}, {0.1, "little"}, {0.3, "little"}, {0.3, "sign-flip"}, {0.4, "empire"}, {0.4, "scaled"}};
  const std::size_t seeds = lab.pick(16, 80);
  const std::vector<std::uint64_t> times = powers_of_two(64, lab.pick(1024, 8192));
  BALLAST_TRY(const auto measured, run_all(lab, std::size(settings) * seeds, [&](std::size_t i) {
                return measure_aggregate(lab, settings[i / seeds], times, i % seeds + 1);
              }));
  Findings findings;
  auto figure = error_figure("aggregate", "E|d_t - grad f(x_t)|^2 with ctma(gm)", "updates t");
  const std::vector<double> x = as_numbers(times);
  for (std::size_t i = 0; i < std::size(settings); ++i) {
    std::vector<std::vector<double>> errors, bounds;
    for (const AggregateErrors& one : std::span(measured).subspan(i * seeds, seeds)) {
      errors.push_back(one.errors);
      bounds.push_back(one.bounds);
    }
    const std::vector<double> error = pointwise_mean(errors), bound = pointwise_mean(bounds);
    double largest = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, error[k] / bound[k]);
    const std::string label = settings[i].label();
    findings.checks.push_back(
        {.what = label + ": slope",
         .measured = over_groups(errors, kGroups,
                                 [&](std::span<const double> mean) { return log_slope(x, mean); }),
         .limit = -1.0 + kSlopeTolerance,
         .reason = "-1, tolerance 0.1"});
    findings.checks.push_back({.what = label + ": largest share of the bound",
                               .measured = Estimate::exactly(largest),
                               .limit = 1.0,
                               .reason = "the lemma with the proof's factors"});
    figure.curves.push_back({.label = label, .x = x, .y = error});
  }
  figure.curves.push_back(guide("slope -1", x, figure.curves[0].y[0], -1.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
