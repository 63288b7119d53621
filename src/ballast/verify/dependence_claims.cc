// Theorem 4.2: that the rate does not depend on the dimension, and how it depends on delays.

#include <fmt/core.h>

#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/descent_watch.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr double kLambda = 0.3;

// The same L, sigma, sigma_L and D in every dimension: all curvatures are 1, and the noise is
// spread over all coordinates alike.
Result<double> excess_in(const Lab& lab, double dim, const char* base, std::uint64_t seed) {
  LeastSquares problem(
      {.dim = static_cast<std::size_t>(dim), .model_noise = 0.3, .constant_noise = 1.0});
  TrialOptions trial = attacked_trial(kLambda, "little");
  trial.rule = fmt::format("ctma({}, {})", base, kLambda);
  trial.updates = lab.pick(300, 1000);
  trial.seed = seed;
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components));
  return result.excess;
}

Result<std::vector<double>> excess_by_dimension(const Lab& lab, const std::vector<double>& dims,
                                                const char* base, std::uint64_t seed) {
  std::vector<double> excess;
  for (const double dim : dims) {
    BALLAST_TRY(const double value, excess_in(lab, dim, base, seed));
    excess.push_back(value);
  }
  return excess;
}

// Without noise the excess swings with T, as that of all accelerated methods does, so T times the
// excess is averaged over several horizons. From the first one on the bound of the longest delay is
// below what a wrong method can reach.
constexpr std::uint64_t kFirstHorizon = 16'000;

struct Delayed {
  double delay = 0.0;   // mu_max
  double excess = 0.0;  // as it would be at the first horizon
  double share = 0.0;   // of the bound there
  double possible = 0.0;
};

// Round robin, so that the number of workers is the delay.
Result<Delayed> measure_delay(const Lab& lab, Problem& problem, std::size_t workers) {
  const std::size_t horizons = lab.pick(5, 20);
  Delayed delayed;
  for (std::size_t i = 0; i < horizons; ++i) {
    const TrialOptions trial{.workers = {.honest = workers},
                             .schedule = sim::ScheduleKind::kRoundRobin,
                             .updates = kFirstHorizon + i * kFirstHorizon / horizons};
    const double eta = theory_eta(problem, trial.updates);
    DescentWatch watch(problem, eta);
    StepObserver* const steps[] = {&watch};
    BALLAST_TRY(const TrialResult result,
                run_trial(problem, trial, lab.components, {.steps = steps}));
    const double times = static_cast<double>(trial.updates) / static_cast<double>(kFirstHorizon);
    delayed.excess += times * watch.excess() / static_cast<double>(horizons);
    if (i > 0) continue;
    const Delays delays = delays_of(result.arrivals, trial.workers);
    const BoundOptions options{
        .constants = problem.constants(), .worker_count = workers, .eta = eta, .kept = 1.0};
    const double bound = excess_bound(options, delays);
    delayed.delay = delays.mean_longest();
    delayed.share = watch.excess() / bound;
    delayed.possible = problem.reachable_excess() / bound;
  }
  return delayed;
}

records::Figure figure_of(const char* stem, const char* title, const char* x_label) {
  return {.stem = stem, .title = title, .x_label = x_label, .y_label = "f(x_T) - f(x*)"};
}

}  // namespace

Result<Findings> check_dimension(const Lab& lab) {
  std::vector<double> dims = {10, 100, 1000, 10'000};
  if (!lab.is_quick) dims.push_back(100'000);
  const std::size_t seeds = lab.pick(8, 16);
  Findings findings;
  records::Figure figure =
      figure_of("dimension", "Excess loss after the same number of updates", "dimension");
  for (const char* base : {"gm", "cwmed"}) {
    BALLAST_TRY(const auto excess, run_all(lab, seeds, [&](std::size_t i) {
                  return excess_by_dimension(lab, dims, base, i + 1);
                }));
    const std::string label = fmt::format("ctma({}), little, lambda {}", base, kLambda);
    findings.checks.push_back({.what = label + ": slope in the dimension",
                               .measured = over_groups(excess, seeds,
                                                       [&](std::span<const double> values) {
                                                         return log_slope(dims, values);
                                                       }),
                               .limit = kSlopeTolerance,
                               .reason = "0, tolerance 0.1"});
    figure.curves.push_back({.label = label, .x = dims, .y = pointwise_mean(excess)});
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_delay(const Lab& lab) {
  constexpr std::size_t kWorkerCounts[] = {2, 4, 8, 16, 32};
  LeastSquares problem({.dim = kDim, .smallest_curvature = 1e-4});
  BALLAST_TRY(const auto measured, run_all(lab, std::size(kWorkerCounts), [&](std::size_t i) {
                return measure_delay(lab, problem, kWorkerCounts[i]);
              }));
  Findings findings;
  std::vector<double> delays, excess;
  for (const Delayed& point : measured) {
    delays.push_back(point.delay);
    excess.push_back(point.excess);
    findings.checks.push_back(
        {.what = fmt::format("mean maximal delay {:.1f}: share of the bound", point.delay),
         .measured = Estimate::exactly(point.share),
         .limit = 1.0,
         .reason = "Theorem 4.2 with the proof's factors",
         .possible = {.high = point.possible}});
  }
  findings.checks.push_back({.what = "slope in the mean maximal delay",
                             .measured = Estimate::exactly(log_slope(delays, excess)),
                             .limit = 1.0 + kSlopeTolerance,
                             .reason = "1, tolerance 0.1"});
  records::Figure figure =
      figure_of("delay", "Excess loss without noise after the same T", "mean maximal delay");
  figure.curves = {{.label = "round robin", .x = delays, .y = excess},
                   guide("slope 1", delays, excess[0], 1.0)};
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
