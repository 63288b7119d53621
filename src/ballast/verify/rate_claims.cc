// Theorem 4.2: how the excess loss falls, with and without noise.

#include <fmt/core.h>

#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

RateSetting setting_of(Problem& problem, double lambda, const std::string& attack) {
  return {.label = (problem.class_count() > 0 ? "logistic regression, " : "least squares, ") +
                   attack_label(lambda, attack),
          .problem = &problem,
          .trial = attacked_trial(lambda, attack),
          .rule_constant = constant_of_ctma(lambda)};
}

void judge(const std::string& label, const RateCurve& curve, const Check& slope,
           Findings& findings) {
  findings.checks.push_back(slope);
  findings.checks.back().what = label + ": slope in T";
  findings.checks.back().measured = curve.slope();
  findings.checks.push_back({.what = label + ": largest share of the bound",
                             .measured = Estimate::exactly(curve.largest_share_of_bound()),
                             .limit = 1.0,
                             .reason = "Theorem 4.2 with the proof's factors"});
}

// Without noise the identity of Theorem 4.1 says that rows are exact gradients.
Result<double> largest_row_gap(const Lab& lab, const RateSetting& setting) {
  TrialOptions trial = setting.trial;
  trial.updates = 1000;
  EstimatorWatch watch(*setting.problem,
                       {.workers = kWorkers, .seed = trial.seed, .checks_identity = true});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(*setting.problem, trial, lab.components, observers));
  return watch.identity_gap();
}

// Every attack that has something to attack: labels are flipped where there are labels.
std::vector<RateSetting> settings_of(Problem& squares, Problem& logistic, double lambda) {
  if (lambda == 0.0) return {setting_of(squares, 0.0, "none"), setting_of(logistic, 0.0, "none")};
  std::vector<RateSetting> settings;
  for (const char* attack : {"sign-flip", "little", "empire", "scaled", "gaussian"}) {
    settings.push_back(setting_of(squares, lambda, attack));
  }
  settings.push_back(setting_of(logistic, lambda, "label-flip"));
  return settings;
}

records::Figure figure_of(const std::string& stem, const std::string& title) {
  return {.stem = stem, .title = title, .x_label = "updates T", .y_label = "f(x_T) - f(x*)"};
}

}  // namespace

Result<Findings> check_rate(const Lab& lab) {
  LeastSquares squares = noisy_least_squares();
  Logistic logistic({});
  const std::vector<std::uint64_t> updates = doublings(250, lab.pick(4000, 16'000));
  Findings findings;
  for (const double lambda : {0.0, 0.1, 0.3, 0.4}) {
    records::Figure figure = figure_of(fmt::format("rate-{}", lambda),
                                       fmt::format("Excess loss with ctma(gm), lambda {}", lambda));
    const std::vector<RateSetting> settings = settings_of(squares, logistic, lambda);
    BALLAST_TRY(const auto curves, measure_rates(lab, settings, updates, lab.pick(6, 24)));
    for (std::size_t i = 0; i < settings.size(); ++i) {
      judge(settings[i].label, curves[i], {.limit = -0.5, .reason = "-1/2"}, findings);
      figure.curves.push_back(curves[i].drawn(settings[i].label));
    }
    figure.curves.push_back(
        guide("slope -1/2", curves[0].updates, curves[0].mean_excess()[0], -0.5));
    findings.figures.push_back(std::move(figure));
  }
  return findings;
}

Result<Findings> check_noise_free(const Lab& lab) {
  // Curvatures down to a value that T updates cannot resolve: the excess then falls like 1 / T and
  // no faster. It also swings, as that of all accelerated methods does, so several octaves count.
  // They begin at ten times the mean maximal delay: before, liars have not yet done their worst.
  LeastSquares problem({.dim = kDim, .smallest_curvature = 1e-4});
  const RateSetting settings[] = {setting_of(problem, 0.0, "none"),
                                  setting_of(problem, 0.3, "sign-flip"),
                                  setting_of(problem, 0.4, "empire")};
  BALLAST_TRY(const auto curves,
              measure_rates(lab, settings, doublings(1000, 32'000), lab.pick(4, 24)));
  Findings findings;
  records::Figure figure = figure_of("noise-free", "Excess loss without noise");
  for (std::size_t i = 0; i < std::size(settings); ++i) {
    judge(settings[i].label, curves[i],
          {.limit = -1.0 + kSlopeTolerance, .reason = "-1, tolerance 0.1"}, findings);
    figure.curves.push_back(curves[i].drawn(settings[i].label));
    BALLAST_TRY(const double gap, largest_row_gap(lab, settings[i]));
    findings.checks.push_back({.what = settings[i].label + ": largest |d - grad f(x)| / |grad f|",
                               .measured = Estimate::exactly(gap),
                               .limit = 1e-4,
                               .reason = "rounding"});
  }
  figure.curves.push_back(guide("slope -1", curves[0].updates, curves[0].mean_excess()[0], -1.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
