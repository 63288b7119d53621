// The regret and AnyTime lemmas, and what Theorem 4.2 makes of them, in every single run.

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "ballast/verify/claims.h"
#include "ballast/verify/descent_watch.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr double kRounding = 1e-5;

struct Setting {
  double lambda;
  const char* attack;
};

constexpr Setting kSettings[] = {{0.0, "none"}, {0.3, "sign-flip"}, {0.4, "empire"}};

// The largest of all runs.
struct Gaps {
  double regret_above = 0.0, regret_gap = 0.0, anytime_gap = 0.0;
  double share = 0.0;     // of the bound by errors that the excess reaches
  double possible = 0.0;  // that it could reach

  void widen(const Gaps& other) {
    regret_above = std::max(regret_above, other.regret_above);
    regret_gap = std::max(regret_gap, other.regret_gap);
    anytime_gap = std::max(anytime_gap, other.anytime_gap);
    share = std::max(share, other.share);
    possible = std::max(possible, other.possible);
  }
};

Result<Gaps> measure(const Lab& lab, Problem& problem, const Setting& setting, std::uint64_t seed) {
  TrialOptions trial = attacked_trial(setting.lambda, setting.attack);
  trial.updates = lab.pick(1000, 4000);
  trial.seed = seed;
  const double eta = theory_eta(problem, trial.updates);
  DescentWatch watch(problem, eta);
  StepObserver* const steps[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(problem, trial, lab.components, {.steps = steps}));
  const double bound = excess_bound_by_errors(problem.constants(), eta, watch.errors());
  return Gaps{.regret_above = watch.regret_above(),
              .regret_gap = watch.regret_gap(),
              .anytime_gap = watch.anytime_gap(),
              .share = watch.excess() / bound,
              .possible = problem.reachable_excess() / bound};
}

// `is_bounded`: whether the bound of the theorem is below what a wrong method can reach.
void judge(const std::string& label, const Gaps& gaps, bool is_bounded, Findings& findings) {
  findings.checks.push_back({.what = label + ": largest regret above its bound, over D^2 / 2 eta",
                             .measured = Estimate::exactly(gaps.regret_above),
                             .limit = kRounding,
                             .reason = "Lemma B.4, rounding"});
  findings.checks.push_back({.what = label + ": largest gap of the regret while not projected",
                             .measured = Estimate::exactly(gaps.regret_gap),
                             .limit = kRounding,
                             .reason = "Lemma B.4 is an equality then, rounding"});
  findings.checks.push_back({.what = label + ": largest gap of the AnyTime equality",
                             .measured = Estimate::exactly(gaps.anytime_gap),
                             .limit = kRounding,
                             .reason = "Theorem B.1 with its remainder, rounding"});
  if (!is_bounded) return;
  findings.checks.push_back({.what = label + ": excess over 2 B_T / alpha_{1:T}",
                             .measured = Estimate::exactly(gaps.share),
                             .limit = 1.0,
                             .reason = "Eq. (19), Lemma B.6, with the errors of the run",
                             .possible = {.high = gaps.possible}});
}

}  // namespace

Result<Findings> check_regret(const Lab& lab) {
  LeastSquares inside = noisy_least_squares(), boundary = tilted_least_squares(),
               linear = linear_problem(0.2);
  Logistic logistic({});
  const std::pair<const char*, Problem*> problems[] = {{"least squares", &inside},
                                                       {"on the boundary", &boundary},
                                                       {"linear", &linear},
                                                       {"logistic regression", &logistic}};
  const std::size_t seeds = lab.pick(2, 8), runs = seeds * std::size(kSettings);
  Findings findings;
  for (const auto& [name, problem] : problems) {
    BALLAST_TRY(const auto measured, run_all(lab, runs, [&, problem = problem](std::size_t i) {
                  return measure(lab, *problem, kSettings[i / seeds], i % seeds + 1);
                }));
    Gaps gaps;
    for (const Gaps& one : measured) gaps.widen(one);
    // Logistic regression is here for a loss that is no quadratic; on it runs of any reasonable
    // length have a bound above its largest excess.
    judge(name, gaps, problem != &logistic, findings);
  }
  return findings;
}

}  // namespace ballast::verify
