// Theorem 4.2 at lambda = 0: nothing is lost against asynchronous SGD.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ballast/verify/asynchronous_sgd.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

RateSetting setting_of(Problem& problem, const char* rule) {
  return {.label = rule,
          .problem = &problem,
          .trial = {.workers = {.honest = 8}, .schedule = sim::ScheduleKind::kId, .rule = rule}};
}

// The largest relative difference between models of two rules after the same updates.
Result<double> largest_gap(const Lab& lab, Problem& problem, const char* rule, const char* other) {
  double gap = 0.0;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::vector<float> models[2];
    for (int k = 0; k < 2; ++k) {
      TrialOptions trial = setting_of(problem, k == 0 ? rule : other).trial;
      trial.updates = 1000;
      trial.seed = seed;
      BALLAST_TRY(TrialResult result, run_trial(problem, trial, lab.components));
      models[k] = std::move(result.model);
    }
    for (std::size_t j = 0; j < models[0].size(); ++j) {
      gap = std::max(gap, std::abs(double{models[0][j]} - models[1][j]) /
                              std::max(1e-3, std::abs(double{models[1][j]})));
    }
  }
  return gap;
}

// How the excess of the one over that of the other changes with T.
Estimate slope_of_ratio(const RateCurve& curve, const RateCurve& yardstick) {
  std::vector<std::vector<double>> ratios = curve.excess;
  for (std::size_t k = 0; k < ratios.size(); ++k) {
    for (std::size_t n = 0; n < ratios[k].size(); ++n) ratios[k][n] /= yardstick.excess[k][n];
  }
  return over_groups(ratios, ratios.size(), [&](std::span<const double> values) {
    return log_slope(curve.updates, values);
  });
}

}  // namespace

Result<Findings> check_no_attack(const Lab& lab) {
  // From here on the start, which SGD forgets faster at first and slower later, has faded.
  const std::vector<std::uint64_t> updates = doublings(2000, 16'000);
  const std::size_t seeds = lab.pick(12, 48);
  LeastSquares problem = noisy_least_squares();
  Findings findings;
  for (const char* rule : {"ctma(gm, 0)", "ctma(cwmed, 0)"}) {
    BALLAST_TRY(const double gap, largest_gap(lab, problem, rule, "mean"));
    findings.checks.push_back({.what = std::string(rule) + ": largest gap to the mean's model",
                               .measured = Estimate::exactly(gap),
                               .limit = 1e-4,
                               .reason = "rounding"});
  }
  const RateSetting settings[] = {setting_of(problem, "ctma(gm, 0)")};
  BALLAST_TRY(const auto curves, measure_rates(lab, settings, updates, seeds));
  BALLAST_TRY(const RateCurve sgd,
              measure_asynchronous_sgd(lab, problem, settings[0].trial, updates, seeds));
  findings.checks.push_back({.what = "excess over that of asynchronous SGD: slope in T",
                             .measured = slope_of_ratio(curves[0], sgd),
                             .limit = kSlopeTolerance,
                             .reason = "0, tolerance 0.1"});
  findings.figures.push_back(
      {.stem = "no-attack",
       .title = "Excess loss at lambda = 0",
       .x_label = "updates T",
       .y_label = "f(x_T) - f(x*)",
       .curves = {curves[0].drawn("ctma(gm, 0)"), sgd.drawn("asynchronous SGD")}});
  return findings;
}

}  // namespace ballast::verify
