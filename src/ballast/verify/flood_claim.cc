// Capped weights: Byzantine workers may send as fast as they like.
//
// The claim and its proof are in docs/theory.md. With aggregation weights that depend on counts
// alone and never exceed them, the paper's proofs hold with the honest weight V_G in the place of
// t_G. So the excess loss has a bound of its own, in which only the weights of the run are
// measured.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ballast/server/weight_policy.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr sim::Population kFlooded{.honest = 12, .byzantine = 4};
constexpr double kShare = 1.0 / 3.0;
// Of the linear problem: so small that the bound is below what a broken method reaches.
constexpr double kNoise = 0.02;

// The weights of every step.
class ShareWatch final : public sim::Observer {
 public:
  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    if (!record.outcome.has_stepped) return sim::Next::kContinue;  // below the quorum
    double honest = 0.0, byzantine = 0.0;
    for (std::uint32_t i = 0; i < kFlooded.total(); ++i) {
      const auto weight = static_cast<double>(server.worker(i).weight);
      (kFlooded.is_byzantine(i) ? byzantine : honest) += weight;
    }
    largest_share = std::max(largest_share, byzantine / (honest + byzantine));
    honest_weight.push_back(honest / static_cast<double>(server::kWeightUnits));
    return sim::Next::kContinue;
  }

  double largest_share = 0.0;           // of the Byzantine workers
  std::vector<double> honest_weight{};  // V_G
};

struct Setting {
  double factor = 1.0;  // Byzantine speed over honest speed
  bool is_capped = false;
};

struct Flooded {
  double excess = 0.0;
  double largest_share = 0.0;
  double bound = 0.0;
};

TrialOptions trial_of(const Setting& setting, std::uint64_t honest_updates, std::uint64_t seed) {
  const double ratio =
      static_cast<double>(kFlooded.byzantine) / static_cast<double>(kFlooded.honest);
  const double updates = static_cast<double>(honest_updates) * (1.0 + setting.factor * ratio);
  TrialOptions trial{.workers = kFlooded,
                     .flood = setting.factor,
                     .rule = fmt::format("ctma(gm, {})", kShare),
                     .attack = "sign-flip",
                     .updates = static_cast<std::size_t>(updates),
                     .seed = seed};
  if (setting.is_capped) {
    trial.weights = server::CappedWeights{.f = kFlooded.byzantine, .share = kShare};
  }
  return trial;
}

// A run with about so many honest updates.
Result<Flooded> measure_point(const Lab& lab, LeastSquares problem, const Setting& setting,
                              std::uint64_t honest_updates, std::uint64_t seed) {
  const TrialOptions trial = trial_of(setting, honest_updates, seed);
  ShareWatch watch;
  sim::Observer* const watching[] = {&watch};
  BALLAST_TRY(const TrialResult result,
              run_trial(problem, trial, lab.components, {.arrivals = watching}));
  // Delays in arrivals, of which some made no step: never shorter than in steps.
  Delays delays = delays_of(result.arrivals, kFlooded);
  const std::size_t steps = watch.honest_weight.size();
  delays.longest.erase(delays.longest.begin(), delays.longest.end() - static_cast<long>(steps));
  const BoundOptions bound{.constants = problem.constants(),
                           .rule_constant = constant_of_ctma(kShare),
                           .worker_count = kFlooded.total(),
                           .eta = theory_eta(problem, trial.updates),
                           .honest_weight = watch.honest_weight};
  return Flooded{.excess = result.excess,
                 .largest_share = watch.largest_share,
                 .bound = excess_bound(bound, delays)};
}

// One setting at every number of honest updates.
struct FloodCurve {
  std::vector<std::vector<double>> excess{};  // by seed
  double largest_share = 0.0;
  double bound = 0.0;  // after the last of them, mean over the seeds

  double last_excess() const { return pointwise_mean(excess).back(); }
};

Result<FloodCurve> measure(const Lab& lab, const LeastSquares& problem, const Setting& setting,
                           const std::vector<std::uint64_t>& honest_updates, std::size_t seeds) {
  const std::size_t lengths = honest_updates.size();
  BALLAST_TRY(const auto points, run_all(lab, seeds * lengths, [&](std::size_t i) {
                return measure_point(lab, problem, setting, honest_updates[i % lengths],
                                     i / lengths + 1);
              }));
  FloodCurve curve;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % lengths == 0) curve.excess.emplace_back();
    curve.excess.back().push_back(points[i].excess);
    curve.largest_share = std::max(curve.largest_share, points[i].largest_share);
    if (i % lengths == lengths - 1) curve.bound += points[i].bound / static_cast<double>(seeds);
  }
  return curve;
}

// How the excess falls on a noisy problem.
Result<FloodCurve> judge_slope(const Lab& lab, double factor,
                               const std::vector<std::uint64_t>& honest_updates,
                               Findings& findings) {
  BALLAST_TRY(const FloodCurve capped,
              measure(lab, noisy_least_squares(), {.factor = factor, .is_capped = true},
                      honest_updates, lab.pick(10, 12)));
  const std::vector<double> counts = as_numbers(honest_updates);
  const std::string label = fmt::format("flood {:g}x, f-cap: ", factor);
  findings.checks.push_back({.what = label + "largest Byzantine share of the weight",
                             .measured = Estimate::exactly(capped.largest_share),
                             .limit = kShare,
                             .reason = "lambda, at every step"});
  findings.checks.push_back({.what = label + "slope in honest updates",
                             .measured = over_groups(capped.excess, capped.excess.size(),
                                                     [&](std::span<const double> values) {
                                                       return log_slope(counts, values);
                                                     }),
                             .limit = -0.5,
                             .reason = "-1/2"});
  return capped;
}

// The excess against its own bound, which a flood without the cap exceeds.
Status judge_bound(const Lab& lab, double factor, std::uint64_t honest_updates,
                   Findings& findings) {
  const LeastSquares linear = linear_problem(kNoise);
  const std::vector<std::uint64_t> last = {honest_updates};
  BALLAST_TRY(const FloodCurve capped,
              measure(lab, linear, {.factor = factor, .is_capped = true}, last, 3));
  BALLAST_TRY(const FloodCurve counted, measure(lab, linear, {.factor = factor}, last, 3));
  const std::string label = fmt::format("flood {:g}x, linear, ", factor);
  const double possible = linear.reachable_excess() / capped.bound;
  findings.checks.push_back({.what = label + "f-cap: excess over its bound",
                             .measured = Estimate::exactly(capped.last_excess() / capped.bound),
                             .limit = 1.0,
                             .reason = "the claim with the weights of the run",
                             .possible = {.high = possible}});
  findings.checks.push_back({.what = label + "counts: excess over the bound of the f-cap",
                             .measured = Estimate::exactly(counted.last_excess() / capped.bound),
                             .relation = Relation::kAtLeast,
                             .limit = 1.0,
                             .reason = "broken",
                             .possible = {.low = 0.0, .high = possible}});
  return {};
}

}  // namespace

Result<Findings> check_flood(const Lab& lab) {
  const std::vector<double> factors =
      lab.is_quick ? std::vector<double>{10.0, 30.0} : std::vector<double>{10.0, 100.0, 1000.0};
  const std::vector<std::uint64_t> honest_updates = doublings(100, lab.pick(800, 1600));
  Findings findings;
  records::Figure figure{.stem = "flood",
                         .title = "Excess loss with the f-cap",
                         .x_label = "honest updates",
                         .y_label = "f(x_T) - f(x*)"};
  for (const double factor : factors) {
    BALLAST_TRY(const FloodCurve capped, judge_slope(lab, factor, honest_updates, findings));
    BALLAST_TRY_STATUS(judge_bound(lab, factor, honest_updates.back(), findings));
    figure.curves.push_back({.label = fmt::format("flood {:g}x", factor),
                             .x = as_numbers(honest_updates),
                             .y = pointwise_mean(capped.excess)});
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
