// Remark 4.5: with constant delays, as in round robin, nothing is lost against the synchronous
// case.

#include <fmt/core.h>

#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"
#include "ballast/verify/synchronous_sgd.h"

namespace ballast::verify {
namespace {

constexpr sim::Population kHonest{.honest = 4}, kAttacked{.honest = 3, .byzantine = 1};
constexpr std::size_t kGroups = 4;  // of seeds, for the confidence of a slope

// Without noise the term L D^2 m / T of the remark is alone, and runs are deterministic; on the
// slow problem the other one is.
struct Setting {
  std::string label;
  LeastSquares problem;
  sim::Population workers;
  std::size_t seeds;

  double lambda() const {
    return static_cast<double>(workers.byzantine) / static_cast<double>(workers.total());
  }
};

std::vector<Setting> all_settings(const Lab& lab) {
  const LeastSquares exact({.dim = kDim, .smallest_curvature = 1e-4}), slow = slow_least_squares();
  const std::size_t seeds = kGroups * lab.pick(6, 24);
  return {{"no noise, no attack", exact, kHonest, kGroups},
          {"slow, no attack", slow, kHonest, seeds},
          {"slow, sign-flip, lambda 0.25", slow, kAttacked, seeds}};
}

// Both excess losses after the same number of samples, at each number of rounds.
struct Pair {
  std::vector<double> asynchronous{}, synchronous{};
};

Result<Pair> measure(const Lab& lab, const Setting& setting,
                     const std::vector<std::uint64_t>& rounds, std::uint64_t seed) {
  LeastSquares problem = setting.problem;
  const std::string rule = fmt::format("ctma(gm, {})", setting.lambda());
  Pair pair;
  for (const std::uint64_t count : rounds) {
    const TrialOptions trial{.workers = setting.workers,
                             .schedule = sim::ScheduleKind::kRoundRobin,
                             .share = setting.lambda(),
                             .rule = rule,
                             .attack = setting.workers.byzantine > 0 ? "sign-flip" : "none",
                             .updates = count * setting.workers.total(),
                             .seed = seed};
    BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components));
    // Other samples than those of the run, so that the two are independent.
    BALLAST_TRY(const double excess, synchronous_excess(problem, {.workers = setting.workers,
                                                                  .rule = rule,
                                                                  .rounds = count,
                                                                  .seed = seed + 1'000'000}));
    pair.asynchronous.push_back(result.excess);
    pair.synchronous.push_back(excess);
  }
  return pair;
}

// The mean of one over the mean of the other, by groups of seeds.
std::vector<std::vector<double>> ratios_of(std::span<const Pair> pairs) {
  std::vector<std::vector<double>> ratios;
  const std::size_t size = pairs.size() / kGroups;
  for (std::size_t i = 0; i < kGroups; ++i) {
    std::vector<std::vector<double>> asynchronous, synchronous;
    for (const Pair& pair : pairs.subspan(i * size, size)) {
      asynchronous.push_back(pair.asynchronous);
      synchronous.push_back(pair.synchronous);
    }
    ratios.push_back(pointwise_mean(asynchronous));
    const std::vector<double> yardstick = pointwise_mean(synchronous);
    for (std::size_t k = 0; k < yardstick.size(); ++k) ratios.back()[k] /= yardstick[k];
  }
  return ratios;
}

}  // namespace

Result<Findings> check_synchronous(const Lab& lab) {
  const std::vector<std::uint64_t> rounds = doublings(64, lab.pick(512, 2048));
  Findings findings;
  records::Figure figure{.stem = "synchronous",
                         .title = "Excess loss after the same number of samples",
                         .x_label = "rounds R = T / m",
                         .y_label = "f(x) - f(x*)"};
  for (const Setting& setting : all_settings(lab)) {
    BALLAST_TRY(const auto pairs, run_all(lab, setting.seeds, [&](std::size_t i) {
                  return measure(lab, setting, rounds, i + 1);
                }));
    const std::vector<double> x = as_numbers(rounds);
    const auto ratios = ratios_of(pairs);
    findings.checks.push_back(
        {.what = fmt::format("{}: excess over that of the synchronous method: slope in T",
                             setting.label),
         .measured = over_groups(
             ratios, kGroups, [&](std::span<const double> ratio) { return log_slope(x, ratio); }),
         .limit = kSlopeTolerance,
         .reason = "0, tolerance 0.1"});
    std::vector<std::vector<double>> asynchronous, synchronous;
    for (const Pair& pair : pairs) {
      asynchronous.push_back(pair.asynchronous);
      synchronous.push_back(pair.synchronous);
    }
    figure.curves.push_back({.label = fmt::format("{}, round robin", setting.label),
                             .x = x,
                             .y = pointwise_mean(asynchronous)});
    figure.curves.push_back({.label = fmt::format("{}, synchronous", setting.label),
                             .x = x,
                             .y = pointwise_mean(synchronous)});
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
