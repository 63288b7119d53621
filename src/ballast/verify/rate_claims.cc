// Theorem 4.2: how the excess loss falls, with and without noise, and that it stays below its
// bound.

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

// What is asked of a slope: at most the limit, or equal to it where the rate is known.
struct Slope {
  double limit = -0.5;
  Relation relation = Relation::kAtMost;
};

struct Measured {
  RateSetting setting = {};
  Slope slope = {};
  bool is_bounded = true;  // by the errors of the run, below what a wrong method can reach
};

struct Problems {
  LeastSquares inside = noisy_least_squares();
  LeastSquares boundary = tilted_least_squares();
  LeastSquares slow = slow_least_squares();
  Logistic logistic = Logistic({});
};

RateSetting setting_of(const std::string& name, Problem& problem, double lambda,
                       const std::string& attack) {
  return {.label = fmt::format("{}, {}", name, attack_label(lambda, attack)),
          .problem = &problem,
          .trial = attacked_trial(lambda, attack),
          .rule_constant = constant_of_ctma(lambda)};
}

std::vector<Measured> settings_of(Problems& problems, double lambda) {
  std::vector<Measured> all;
  const std::vector<std::string> attacks =
      lambda == 0.0
          ? std::vector<std::string>{"none"}
          : std::vector<std::string>{"sign-flip", "little", "empire", "scaled", "gaussian"};
  for (const std::string& attack : attacks) {
    all.push_back({setting_of("least squares", problems.inside, lambda, attack)});
    if (attack == "scaled" || attack == "gaussian") continue;
    all.push_back({setting_of("on the boundary", problems.boundary, lambda, attack)});
  }
  // Labels are flipped where there are labels; there the box is too large for a bound to bind.
  all.push_back({.setting = setting_of("logistic regression", problems.logistic, lambda,
                                       lambda == 0.0 ? "none" : "label-flip"),
                 .is_bounded = false});
  return all;
}

// The problem whose rate is T^(-1/2): its slopes are held to that from both sides where nobody
// lies, and from above under attack.
std::vector<Measured> slow_settings(Problem& slow, bool is_quick) {
  std::vector<Measured> all = {{setting_of("slow", slow, 0.0, "none"), {-0.5, Relation::kEqual}},
                               {setting_of("slow", slow, 0.4, "little"), {-0.5 + kSlopeTolerance}}};
  if (is_quick) return all;
  for (const double lambda : {0.1, 0.3, 0.4}) {
    for (const char* attack : {"sign-flip", "empire"}) {
      all.push_back({setting_of("slow", slow, lambda, attack), {-0.5 + kSlopeTolerance}});
    }
  }
  return all;
}

void judge(const Measured& measured, const RateCurve& curve, Findings& findings) {
  const bool is_equal = measured.slope.relation == Relation::kEqual;
  findings.checks.push_back({.what = measured.setting.label + ": slope in T",
                             .measured = curve.slope(),
                             .relation = measured.slope.relation,
                             .limit = measured.slope.limit,
                             .tolerance = is_equal ? kSlopeTolerance : 0.0,
                             .reason = is_equal ? "-1/2, no faster on this problem" : "-1/2"});
  if (!measured.is_bounded) return;
  const double bound = curve.bounds_by_errors.back();
  findings.checks.push_back(
      {.what = measured.setting.label + ": excess over its bound by the errors of the run",
       .measured = Estimate::exactly(curve.mean_excess().back() / bound),
       .limit = 1.0,
       .reason = "Theorem 4.2 before Lemma 4.1 is put in",
       .possible = {.high = measured.setting.problem->reachable_excess() / bound}});
}

// Noise that makes the theorem's bound about half of what a wrong method can reach.
double binding_noise(double rule_constant, double lambda, std::uint64_t updates) {
  const double m = static_cast<double>(kWorkers.total());
  const double factor = std::sqrt(2.0 * (12.0 * rule_constant * m + 4.0) / (1.0 - lambda));
  const Constants constants = linear_problem(0.0).constants();
  return 0.5 * constants.optimum_gradient * std::sqrt(static_cast<double>(updates)) /
         (8.0 / 3.0 * factor);
}

// The theorem's bound, with nothing measured in it, on a linear problem: there delays do no harm,
// and the optimum lies on the boundary, so that G* D / T is part of it.
Status judge_bounds(const Lab& lab, Findings& findings) {
  const std::uint64_t updates = lab.pick(4000, 16'000);
  for (const double lambda : {0.0, 0.1, 0.3, 0.4}) {
    for (const bool is_ctma : {true, false}) {
      const double c = is_ctma ? constant_of_ctma(lambda) : median_constant(lambda);
      LeastSquares linear = linear_problem(binding_noise(c, lambda, updates));
      RateSetting setting = setting_of(is_ctma ? "linear, ctma(gm)" : "linear, gm", linear, lambda,
                                       lambda == 0.0 ? "none" : "sign-flip");
      setting.rule_constant = c;
      if (!is_ctma) setting.trial.rule = "gm";
      BALLAST_TRY(const auto curves, measure_rates(lab, {&setting, 1}, {updates}, 4));
      const double bound = curves[0].bounds[0];
      findings.checks.push_back({.what = setting.label + ": excess over its bound",
                                 .measured = Estimate::exactly(curves[0].mean_excess()[0] / bound),
                                 .limit = 1.0,
                                 .reason = "Theorem 4.2 with the proof's factors",
                                 .possible = {.high = linear.reachable_excess() / bound}});
    }
  }
  return {};
}

// Without noise the identity of Theorem 4.1 says that rows are exact gradients.
Result<double> largest_row_gap(const Lab& lab, const RateSetting& setting) {
  TrialOptions trial = setting.trial;
  trial.updates = 1000;
  EstimatorWatch watch(*setting.problem,
                       {.workers = kWorkers, .seed = trial.seed, .checks_identity = true});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(*setting.problem, trial, lab.components, {.arrivals = observers}));
  return watch.identity_gap();
}

records::Figure figure_of(const std::string& stem, const std::string& title) {
  return {.stem = stem, .title = title, .x_label = "updates T", .y_label = "f(x_T) - f(x*)"};
}

// The settings of one lambda, measured and drawn.
Status check_settings(const Lab& lab, const std::vector<Measured>& all,
                      const std::vector<std::uint64_t>& updates, std::size_t seeds,
                      records::Figure figure, double guide_slope, Findings& findings) {
  std::vector<RateSetting> settings;
  settings.reserve(all.size());
  for (const Measured& one : all) settings.push_back(one.setting);
  BALLAST_TRY(const auto curves, measure_rates(lab, settings, updates, seeds));
  for (std::size_t i = 0; i < all.size(); ++i) {
    judge(all[i], curves[i], findings);
    figure.curves.push_back(curves[i].drawn(settings[i].label));
  }
  figure.curves.push_back(guide(fmt::format("slope {}", guide_slope), curves[0].updates,
                                curves[0].mean_excess()[0], guide_slope));
  findings.figures.push_back(std::move(figure));
  return {};
}

}  // namespace

Result<Findings> check_rate(const Lab& lab) {
  Problems problems;
  Findings findings;
  std::vector<double> lambdas = {0.0, 0.4};
  if (!lab.is_quick) lambdas = {0.0, 0.1, 0.3, 0.4};
  for (const double lambda : lambdas) {
    records::Figure figure = figure_of(fmt::format("rate-{}", lambda),
                                       fmt::format("Excess loss with ctma(gm), lambda {}", lambda));
    BALLAST_TRY_STATUS(check_settings(lab, settings_of(problems, lambda),
                                      doublings(250, lab.pick(4000, 16'000)), lab.pick(6, 24),
                                      std::move(figure), -0.5, findings));
  }
  BALLAST_TRY_STATUS(check_settings(
      lab, slow_settings(problems.slow, lab.is_quick), doublings(250, lab.pick(4000, 16'000)),
      lab.pick(32, 64), figure_of("rate-slow", "Excess loss where T^(-1/2) is the rate"), -0.5,
      findings));
  BALLAST_TRY_STATUS(judge_bounds(lab, findings));
  return findings;
}

Result<Findings> check_noise_free(const Lab& lab) {
  // Curvatures down to a value that T updates cannot resolve: the excess then falls like 1 / T and
  // no faster. It also swings, as that of all accelerated methods does, so several octaves count.
  // They begin at ten times the mean maximal delay: before, liars have not yet done their worst.
  LeastSquares inside({.dim = kDim, .smallest_curvature = 1e-4});
  LeastSquares boundary({.dim = kDim, .smallest_curvature = 1e-4, .tilt = 1.0});
  const Slope slope{-1.0 + kSlopeTolerance};
  const std::vector<Measured> all = {
      {setting_of("least squares", inside, 0.0, "none"), slope},
      {setting_of("least squares", inside, 0.3, "sign-flip"), slope},
      {setting_of("least squares", inside, 0.4, "empire"), slope},
      {setting_of("on the boundary", boundary, 0.4, "empire"), slope}};
  Findings findings;
  BALLAST_TRY_STATUS(
      check_settings(lab, all, doublings(1000, lab.pick(16'000, 32'000)), lab.pick(4, 24),
                     figure_of("noise-free", "Excess loss without noise"), -1.0, findings));
  for (const Measured& one : all) {
    BALLAST_TRY(const double gap, largest_row_gap(lab, one.setting));
    findings.checks.push_back({.what = one.setting.label + ": largest |d - grad f(x)| / |grad f|",
                               .measured = Estimate::exactly(gap),
                               .limit = 1e-6,
                               .reason = "rounding"});
  }
  return findings;
}

}  // namespace ballast::verify
