// The identity in the proof of Theorem 4.1, and that its terms are uncorrelated.

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/estimator_watch.h"
#include "ballast/verify/logistic.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr double kShare = 0.2;

// A row is rounded to float at each update, a relative 2^-24, and such errors add up over at most
// a thousand updates of one worker.
constexpr double kRounding = 1e-6;

struct Sums {
  double gap = 0.0;    // of the identity
  double ratio = 0.0;  // |sum_G s_i eps_i|^2 over the sum of all |M_k|^2
};

Result<Sums> measure(const Lab& lab, Problem& problem, sim::ScheduleKind schedule,
                     std::uint64_t seed) {
  TrialOptions trial = attacked_trial(kShare, "sign-flip");
  trial.schedule = schedule;
  trial.updates = lab.pick(120, 1000);
  trial.seed = seed;
  EstimatorWatch watch(problem, {.workers = kWorkers, .seed = seed, .checks_identity = true});
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY([[maybe_unused]] const auto result,
              run_trial(problem, trial, lab.components, {.arrivals = observers}));
  return Sums{.gap = watch.identity_gap(),
              .ratio = watch.weighted_sum_squared() / watch.sum_of_squares()};
}

void judge(const std::string& label, std::span<const Sums> seeds, Findings& findings) {
  double gap = 0.0;
  std::vector<double> ratios;
  for (const Sums& sums : seeds) {
    gap = std::max(gap, sums.gap);
    ratios.push_back(sums.ratio);
  }
  findings.checks.push_back({.what = label + ": largest |s eps - sum M| / (s |g|)",
                             .measured = Estimate::exactly(gap),
                             .limit = kRounding,
                             .reason = "rounding"});
  findings.checks.push_back({.what = label + ": E|sum_G s eps|^2 / sum E|M|^2",
                             .measured = mean_of(ratios),
                             .relation = Relation::kEqual,
                             .limit = 1.0,
                             .tolerance = 0.1,
                             .reason = "Lemma B.2: uncorrelated terms"});
}

}  // namespace

Result<Findings> check_martingale(const Lab& lab) {
  LeastSquares least_squares = noisy_least_squares();
  Logistic logistic({.dim = kDim, .feature_count = kDim});
  const std::pair<const char*, Problem*> problems[] = {{"least squares", &least_squares},
                                                       {"logistic regression", &logistic}};
  const std::size_t seeds = lab.pick(160, 800);
  Findings findings;
  for (const sim::ScheduleKind schedule : kSchedules) {
    for (const auto& [name, problem] : problems) {
      BALLAST_TRY(const auto sums, run_all(lab, seeds, [&, problem = problem](std::size_t i) {
                    return measure(lab, *problem, schedule, i + 1);
                  }));
      judge(fmt::format("{}, {}", name, sim::name(schedule)), sums, findings);
    }
  }
  return findings;
}

}  // namespace ballast::verify
