// Where training breaks without a part of the method, and where it holds although one would expect
// it to break.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/least_squares.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"

namespace ballast::verify {
namespace {

using sim::ScheduleKind;

LeastSquares noisy_problem() {
  return LeastSquares({.dim = 10, .smallest_curvature = 0.25, .constant_noise = 1.0});
}

// The whole method and the method without one of its parts.
struct CounterExample {
  std::string whole_label, part_label;
  TrialOptions whole, part;
};

// Most workers are Byzantine, but they are slow: 0.3 of the updates come from 6 workers of 10.
CounterExample without_weights() {
  TrialOptions whole{.workers = {.honest = 4, .byzantine = 6},
                     .schedule = ScheduleKind::kIdSquared,
                     .share = 0.3,
                     .rule = "ctma(gm, 0.3)",
                     .attack = "sign-flip"};
  TrialOptions part = whole;
  part.weights = server::UniformWeights{};
  return {"weighted, 6 of 10 workers Byzantine", "equal weights, 6 of 10 workers Byzantine", whole,
          part};
}

CounterExample without_robustness() {
  TrialOptions whole{.workers = {.honest = 6, .byzantine = 3},
                     .schedule = ScheduleKind::kId,
                     .share = 0.3,
                     .rule = "ctma(gm, 0.3)",
                     .attack = "scaled"};
  TrialOptions part = whole;
  part.rule = "mean";
  return {"ctma(gm), scaled attack", "mean, scaled attack", whole, part};
}

CounterExample without_history() {
  TrialOptions whole{.workers = {.honest = 6, .byzantine = 3},
                     .schedule = ScheduleKind::kId,
                     .share = 0.3,
                     .rule = "ctma(gm, 0.3)",
                     .attack = "little"};
  TrialOptions part = whole;
  part.estimator = optim::SgdEstimator{};
  return {"mu2, little", "plain gradients, little", whole, part};
}

// ---- the flood

constexpr sim::Population kFlooded{.honest = 12, .byzantine = 4};
constexpr double kShare = 1.0 / 3.0;

// The largest share of weight that Byzantine workers had, and the honest weight that was kept.
class ShareWatch final : public sim::Observer {
 public:
  Result<sim::Next> on_arrival(const sim::ArrivalRecord&,
                               const server::ParameterServer& server) override {
    double honest = 0.0, byzantine = 0.0, counted = 0.0;
    for (std::uint32_t i = 0; i < kFlooded.total(); ++i) {
      const auto weight = static_cast<double>(server.worker(i).weight);
      (kFlooded.is_byzantine(i) ? byzantine : honest) += weight;
      if (!kFlooded.is_byzantine(i)) counted += static_cast<double>(server.worker(i).count);
    }
    if (honest + byzantine == 0.0) return sim::Next::kContinue;  // below the quorum
    largest_share = std::max(largest_share, byzantine / (honest + byzantine));
    kept = honest / (counted * static_cast<double>(server::kWeightUnits));
    return sim::Next::kContinue;
  }

  double largest_share = 0.0;
  double kept = 1.0;  // at the end
};

struct FloodPoint {
  double excess = 0.0;
  double largest_share = 0.0;
  double kept = 1.0;
};

// A run with about so many honest updates. A factor of 0 stands for no Byzantine workers at all.
Result<FloodPoint> measure_flood(const Lab& lab, double factor, bool is_capped,
                                 std::size_t honest_updates, std::uint64_t seed) {
  LeastSquares problem = noisy_problem();
  const double per_honest =
      factor * static_cast<double>(kFlooded.byzantine) / static_cast<double>(kFlooded.honest);
  TrialOptions trial{
      .workers = kFlooded,
      .flood = std::max(factor, 1e-6),
      .rule = "ctma(gm, 0.3333333333333333)",
      .attack = "sign-flip",
      .updates = static_cast<std::size_t>(static_cast<double>(honest_updates) * (1.0 + per_honest)),
      .seed = seed};
  if (is_capped) trial.weights = server::CappedWeights{.f = kFlooded.byzantine, .share = kShare};
  ShareWatch watch;
  sim::Observer* const observers[] = {&watch};
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  return FloodPoint{
      .excess = result.excess, .largest_share = watch.largest_share, .kept = watch.kept};
}

// Means over the seeds, and the largest share of all.
FloodPoint summary_of(std::span<const FloodPoint> seeds) {
  FloodPoint summary{.kept = 0.0};
  for (const FloodPoint& point : seeds) {
    summary.excess += point.excess / static_cast<double>(seeds.size());
    summary.kept += point.kept / static_cast<double>(seeds.size());
    summary.largest_share = std::max(summary.largest_share, point.largest_share);
  }
  return summary;
}

void judge_flood(double factor, const FloodPoint& calm, const FloodPoint& capped,
                 const FloodPoint& counted, Findings& findings) {
  const double c = ctma_constant(kShare, median_constant(kShare));
  const double m = static_cast<double>(kFlooded.total());
  const std::string label = fmt::format("flood {:g}x", factor);
  findings.checks.push_back({.what = label + ", f-cap: largest Byzantine share of the weight",
                             .measured = Estimate::exactly(capped.largest_share),
                             .limit = kShare,
                             .reason = "lambda, at every step"});
  findings.checks.push_back({.what = label + ", f-cap: excess over that without Byzantine workers",
                             .measured = Estimate::exactly(capped.excess / calm.excess),
                             .limit = std::sqrt((1.0 + c * m) / capped.kept),
                             .reason = "sqrt((1 + c m) / kept weight)"});
  findings.checks.push_back({.what = label + ", counts: excess over that with the f-cap",
                             .measured = Estimate::exactly(counted.excess / capped.excess),
                             .relation = Relation::kAtLeast,
                             .limit = 10.0,
                             .reason = "broken: an order of magnitude"});
}

}  // namespace

Result<Findings> check_counter_examples(const Lab& lab) {
  // A plateau is told from the theorem's rate by half of its exponent.
  constexpr double kRate = -0.5, kPlateau = -0.25;
  LeastSquares problem = noisy_problem();
  std::vector<RateSetting> settings;
  for (const CounterExample& example :
       {without_weights(), without_robustness(), without_history()}) {
    settings.push_back({.label = example.whole_label, .problem = &problem, .trial = example.whole});
    settings.push_back({.label = example.part_label, .problem = &problem, .trial = example.part});
  }
  BALLAST_TRY(const auto curves,
              measure_rates(lab, settings, doublings(500, lab.pick(4, 6)), lab.pick(8, 24)));
  Findings findings;
  records::Figure figure{.stem = "counter-examples",
                         .title = "Where the excess loss stops falling",
                         .x_label = "updates T",
                         .y_label = "f(x_T) - f(x*)"};
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool is_whole = i % 2 == 0;
    findings.checks.push_back({.what = settings[i].label + ": slope in T",
                               .measured = curves[i].slope(),
                               .relation = is_whole ? Relation::kAtMost : Relation::kAtLeast,
                               .limit = is_whole ? kRate : kPlateau,
                               .reason = is_whole ? "-1/2" : "a plateau"});
    figure.curves.push_back(curves[i].drawn(settings[i].label));
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

Result<Findings> check_flood(const Lab& lab) {
  std::vector<double> factors = {10.0, 100.0};
  if (!lab.is_quick) factors.push_back(1000.0);
  const std::size_t seeds = lab.pick(3, 6), honest_updates = lab.pick(300, 600);
  const auto measure = [&](double factor, bool is_capped) -> Result<FloodPoint> {
    BALLAST_TRY(const auto points, run_all(lab, seeds, [&](std::size_t i) {
                  return measure_flood(lab, factor, is_capped, honest_updates, i + 1);
                }));
    return summary_of(points);
  };
  Findings findings;
  records::Figure figure{.stem = "flood",
                         .title = "Excess loss after the same number of honest updates",
                         .x_label = "speed of Byzantine workers, honest = 1",
                         .y_label = "f(x_T) - f(x*)",
                         .curves = {{.label = "f-cap"}, {.label = "counts"}}};
  BALLAST_TRY(const FloodPoint calm, measure(0.0, false));
  for (const double factor : factors) {
    BALLAST_TRY(const FloodPoint capped, measure(factor, true));
    BALLAST_TRY(const FloodPoint counted, measure(factor, false));
    judge_flood(factor, calm, capped, counted, findings);
    for (auto& curve : figure.curves) curve.x.push_back(factor);
    figure.curves[0].y.push_back(capped.excess);
    figure.curves[1].y.push_back(counted.excess);
  }
  figure.curves.push_back(guide("no Byzantine workers", factors, calm.excess, 0.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
