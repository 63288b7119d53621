// Theorem 4.2: the rate, and what it does and does not depend on.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ballast/verify/asynchronous_sgd.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/least_squares.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"

namespace ballast::verify {
namespace {

using sim::ScheduleKind;

constexpr sim::Population kWorkers{.honest = 6, .byzantine = 3};

double constant_of_ctma(double lambda) { return ctma_constant(lambda, median_constant(lambda)); }

RateSetting setting_of(Problem& problem, double lambda, const std::string& attack) {
  return {.label = lambda == 0.0 ? "no attack" : fmt::format("{}, lambda {}", attack, lambda),
          .problem = &problem,
          .trial = {.workers = kWorkers,
                    .schedule = ScheduleKind::kId,
                    .share = lambda,
                    .rule = fmt::format("ctma(gm, {})", lambda),
                    .attack = attack},
          .rule_constant = constant_of_ctma(lambda)};
}

void judge_rate(const std::string& label, const RateCurve& curve, double slope_limit,
                const std::string& reason, Findings& findings) {
  findings.checks.push_back({.what = label + ": slope in T",
                             .measured = curve.slope(),
                             .limit = slope_limit,
                             .reason = reason});
  findings.checks.push_back({.what = label + ": largest share of the bound",
                             .measured = Estimate::exactly(curve.largest_share_of_bound()),
                             .limit = 1.0,
                             .reason = "Theorem 4.2 with the proof's factors"});
}

records::Figure excess_figure(const char* stem, const char* title,
                              const char* x_label = "updates T") {
  return {.stem = stem, .title = title, .x_label = x_label, .y_label = "f(x_T) - f(x*)"};
}

Result<double> noise_free_row_gap(const Lab& lab, Problem& problem, const RateSetting& setting) {
  TrialOptions trial = setting.trial;
  trial.updates = 1000;
  EstimatorWatch watch(problem, {.workers = kWorkers, .seed = trial.seed, .checks_identity = true});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(problem, trial, lab.components, observers));
  return watch.identity_gap();
}

}  // namespace

Result<Findings> check_rate(const Lab& lab) {
  LeastSquares squares(
      {.dim = 10, .smallest_curvature = 0.05, .model_noise = 0.3, .constant_noise = 1.0});
  Logistic logistic({});
  std::vector<RateSetting> settings = {setting_of(squares, 0.0, "none")};
  for (const double lambda : {0.1, 0.3, 0.4}) {
    for (const char* attack : {"sign-flip", "little", "empire", "scaled", "gaussian"}) {
      settings.push_back(setting_of(squares, lambda, attack));
    }
    settings.push_back(setting_of(logistic, lambda, "label-flip"));
  }
  BALLAST_TRY(const auto curves,
              measure_rates(lab, settings, doublings(250, lab.pick(5, 7)), lab.pick(8, 24)));
  Findings findings;
  auto figure = excess_figure("rate", "Excess loss with ctma(gm) under attack");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    judge_rate(settings[i].label, curves[i], -0.5, "-1/2", findings);
    figure.curves.push_back(curves[i].drawn(settings[i].label));
  }
  figure.curves.push_back(guide("slope -1/2", curves[0].updates, curves[0].mean_excess()[0], -0.5));
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_noise_free(const Lab& lab) {
  // Curvatures down to a value that T updates cannot resolve: the excess then falls like 1 / T and
  // no faster.
  LeastSquares problem({.dim = 32, .smallest_curvature = 1e-4});
  const RateSetting settings[] = {setting_of(problem, 0.0, "none"),
                                  setting_of(problem, 0.3, "sign-flip"),
                                  setting_of(problem, 0.4, "empire")};
  BALLAST_TRY(const auto curves, measure_rates(lab, settings, doublings(250, lab.pick(5, 7)), 4));
  Findings findings;
  auto figure = excess_figure("noise-free", "Excess loss without noise");
  for (std::size_t i = 0; i < std::size(settings); ++i) {
    judge_rate(settings[i].label, curves[i], -0.95, "-1, tolerance 0.05", findings);
    figure.curves.push_back(curves[i].drawn(settings[i].label));
    BALLAST_TRY(const double gap, noise_free_row_gap(lab, problem, settings[i]));
    findings.checks.push_back({.what = settings[i].label + ": largest |d - grad f(x)| / |grad f|",
                               .measured = Estimate::exactly(gap),
                               .limit = 1e-4,
                               .reason = "rounding"});
  }
  figure.curves.push_back(guide("slope -1", curves[0].updates, curves[0].mean_excess()[0], -1.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_dimension(const Lab& lab) {
  constexpr double kTolerance = 0.05;  // of the slope: a factor of 1.6 over four decades
  std::vector<double> dims = {10, 100, 1000, 10'000};
  if (!lab.is_quick) dims.push_back(100'000);
  const std::size_t seeds = 4, updates = lab.pick(400, 1000);
  constexpr double kLambda = 0.3;
  Findings findings;
  auto figure =
      excess_figure("dimension", "Excess loss after the same number of updates", "dimension");
  for (const char* rule : {"gm", "cwmed"}) {
    BALLAST_TRY(const auto excess, run_all(lab, seeds * dims.size(), [&](std::size_t i) {
                  LeastSquares problem({.dim = static_cast<std::size_t>(dims[i % dims.size()]),
                                        .model_noise = 0.3,
                                        .constant_noise = 1.0});
                  TrialOptions trial = setting_of(problem, kLambda, "little").trial;
                  trial.rule = fmt::format("ctma({}, {})", rule, kLambda);
                  trial.updates = updates;
                  trial.seed = i / dims.size() + 1;
                  return run_trial(problem, trial, lab.components).map([](const TrialResult& run) {
                    return run.excess;
                  });
                }));
    std::vector<std::vector<double>> samples;
    for (std::size_t i = 0; i < excess.size(); i += dims.size()) {
      const auto first = excess.begin() + static_cast<std::ptrdiff_t>(i);
      samples.emplace_back(first, first + static_cast<std::ptrdiff_t>(dims.size()));
    }
    const std::string label = fmt::format("ctma({}), little, lambda {}", rule, kLambda);
    findings.checks.push_back({.what = label + ": slope in the dimension",
                               .measured = over_groups(samples, seeds,
                                                       [&](std::span<const double> values) {
                                                         return log_slope(dims, values);
                                                       }),
                               .limit = kTolerance,
                               .reason = "0, tolerance 0.05"});
    figure.curves.push_back({.label = label, .x = dims, .y = pointwise_mean(samples)});
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_delay(const Lab& lab) {
  constexpr double kTolerance = 0.05;
  LeastSquares problem({.dim = 32, .smallest_curvature = 1e-3});
  const std::size_t updates = lab.pick(2000, 16'000);
  Findings findings;
  auto figure = excess_figure("delay", "Excess loss without noise after the same T, round robin",
                              "mean maximal delay");
  std::vector<double> delays, excess;
  for (const std::size_t workers : {2u, 4u, 8u, 16u, 32u, 64u}) {
    const TrialOptions trial{
        .workers = {.honest = workers}, .schedule = ScheduleKind::kRoundRobin, .updates = updates};
    BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components));
    const Delays measured = delays_of(result.arrivals, trial.workers);
    delays.push_back(measured.mean_longest());
    excess.push_back(result.excess);
    const BoundOptions bound{.constants = problem.constants(),
                             .worker_count = workers,
                             .eta = theory_eta(problem, updates),
                             .kept = 1.0};
    findings.checks.push_back(
        {.what = fmt::format("mean maximal delay {:.1f}: share of the bound", delays.back()),
         .measured = Estimate::exactly(result.excess / excess_bound(bound, measured)),
         .limit = 1.0,
         .reason = "Theorem 4.2 with the proof's factors"});
  }
  findings.checks.push_back({.what = "slope in the mean maximal delay",
                             .measured = Estimate::exactly(log_slope(delays, excess)),
                             .limit = 1.0 + kTolerance,
                             .reason = "1, tolerance 0.05"});
  figure.curves = {{.label = "measured", .x = delays, .y = excess},
                   guide("slope 1", delays, excess[0], 1.0)};
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_no_attack(const Lab& lab) {
  constexpr double kRounding = 1e-4, kTolerance = 0.1;
  LeastSquares problem(
      {.dim = 10, .smallest_curvature = 0.05, .model_noise = 0.3, .constant_noise = 1.0});
  std::vector<RateSetting> settings;
  for (const char* rule : {"mean", "ctma(gm, 0)", "ctma(cwmed, 0)"}) {
    settings.push_back(
        {.label = rule,
         .problem = &problem,
         .trial = {.workers = {.honest = 8}, .schedule = ScheduleKind::kId, .rule = rule}});
  }
  const std::size_t seeds = lab.pick(8, 24);
  const std::vector<std::size_t> updates = doublings(250, lab.pick(5, 7));
  BALLAST_TRY(const auto curves, measure_rates(lab, settings, updates, seeds));
  BALLAST_TRY(const RateCurve sgd,
              measure_asynchronous_sgd(lab, problem, settings[0].trial, updates, seeds));
  Findings findings;
  auto figure = excess_figure("no-attack", "Excess loss at lambda = 0");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    figure.curves.push_back(curves[i].drawn(settings[i].label));
    if (i == 0) continue;
    double gap = 0.0;
    std::vector<std::vector<double>> ratios = curves[i].excess;
    for (std::size_t k = 0; k < seeds; ++k) {
      for (std::size_t n = 0; n < updates.size(); ++n) {
        gap = std::max(gap, std::abs(curves[i].excess[k][n] / curves[0].excess[k][n] - 1.0));
        ratios[k][n] /= sgd.excess[k][n];
      }
    }
    findings.checks.push_back(
        {.what = settings[i].label + ": largest relative gap to the weighted mean's excess",
         .measured = Estimate::exactly(gap),
         .limit = kRounding,
         .reason = "rounding"});
    findings.checks.push_back(
        {.what = settings[i].label + " over asynchronous SGD: slope of the ratio in T",
         .measured = over_groups(
             ratios, seeds,
             [&](std::span<const double> values) { return log_slope(curves[i].updates, values); }),
         .limit = kTolerance,
         .reason = "0, tolerance 0.1"});
  }
  figure.curves.push_back(sgd.drawn("asynchronous SGD"));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
