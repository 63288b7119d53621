// Capped weights: Byzantine workers may send as fast as they like.
//
// The claim and its proof are in docs/theory.md. With aggregation weights that depend on counts
// alone and never exceed them, the paper's proofs hold with the honest weight that is kept in the
// place of t_G; so the excess loss may exceed that of a run without Byzantine workers by
// sqrt((1 + c m) / kept), the ratio of the two bounds.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/rates.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/settings.h"

namespace ballast::verify {
namespace {

constexpr sim::Population kFlooded{.honest = 12, .byzantine = 4};
constexpr double kShare = 1.0 / 3.0;

// The largest share of the weight that Byzantine workers had at any step, and the part of the
// honest counts that was kept as weight at the end.
class ShareWatch final : public sim::Observer {
 public:
  Result<sim::Next> on_arrival(const sim::ArrivalRecord&,
                               const server::ParameterServer& server) override {
    double honest = 0.0, byzantine = 0.0, honest_counts = 0.0;
    for (std::uint32_t i = 0; i < kFlooded.total(); ++i) {
      const auto weight = static_cast<double>(server.worker(i).weight);
      (kFlooded.is_byzantine(i) ? byzantine : honest) += weight;
      if (!kFlooded.is_byzantine(i)) honest_counts += static_cast<double>(server.worker(i).count);
    }
    if (honest + byzantine == 0.0) return sim::Next::kContinue;  // below the quorum
    largest_share = std::max(largest_share, byzantine / (honest + byzantine));
    kept = honest / (honest_counts * static_cast<double>(server::kWeightUnits));
    return sim::Next::kContinue;
  }

  double largest_share = 0.0;
  double kept = 1.0;
};

struct Setting {
  double factor = 1.0;  // Byzantine speed over honest speed; 0: no Byzantine workers
  bool is_capped = false;
};

struct Flooded {
  double excess = 0.0;
  double largest_share = 0.0;
  double kept = 1.0;
};

// A run with about so many honest updates.
Result<Flooded> measure_point(const Lab& lab, const Setting& setting, std::uint64_t honest_updates,
                              std::uint64_t seed) {
  LeastSquares problem = noisy_least_squares();
  const double ratio =
      static_cast<double>(kFlooded.byzantine) / static_cast<double>(kFlooded.honest);
  const double updates = static_cast<double>(honest_updates) * (1.0 + setting.factor * ratio);
  TrialOptions trial{.workers = kFlooded,
                     .flood = setting.factor,
                     .rule = fmt::format("ctma(gm, {})", kShare),
                     .attack = "sign-flip",
                     .updates = static_cast<std::size_t>(updates),
                     .seed = seed};
  if (setting.factor == 0.0) {
    trial.workers.byzantine = 0;
    trial.flood.reset();
  }
  if (setting.is_capped) {
    trial.weights = server::CappedWeights{.f = kFlooded.byzantine, .share = kShare};
  }
  ShareWatch watch;
  sim::Observer* const watching[] = {&watch};
  const std::span<sim::Observer* const> observers(watching, setting.factor == 0.0 ? 0u : 1u);
  BALLAST_TRY(const TrialResult result, run_trial(problem, trial, lab.components, observers));
  return Flooded{.excess = result.excess, .largest_share = watch.largest_share, .kept = watch.kept};
}

// One setting at every number of honest updates.
struct FloodCurve {
  std::vector<std::vector<double>> excess{};  // by seed
  double largest_share = 0.0;
  double kept = 1.0;  // the least

  double last_excess() const { return pointwise_mean(excess).back(); }
};

Result<FloodCurve> measure(const Lab& lab, const Setting& setting,
                           const std::vector<std::uint64_t>& honest_updates) {
  const std::size_t seeds = lab.pick(8, 12);
  const std::size_t lengths = honest_updates.size();
  BALLAST_TRY(const auto points, run_all(lab, seeds * lengths, [&](std::size_t i) {
                return measure_point(lab, setting, honest_updates[i % lengths], i / lengths + 1);
              }));
  FloodCurve curve;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % lengths == 0) curve.excess.emplace_back();
    curve.excess.back().push_back(points[i].excess);
    curve.largest_share = std::max(curve.largest_share, points[i].largest_share);
    curve.kept = std::min(curve.kept, points[i].kept);
  }
  return curve;
}

void judge(double factor, const FloodCurve& calm, const FloodCurve& capped,
           const FloodCurve& counted, const std::vector<double>& honest_updates,
           Findings& findings) {
  const double m = static_cast<double>(kFlooded.total());
  const std::string label = fmt::format("flood {:g}x, ", factor);
  const Estimate slope = over_groups(
      capped.excess, capped.excess.size(),
      [&](std::span<const double> values) { return log_slope(honest_updates, values); });
  findings.checks.push_back({.what = label + "f-cap: largest Byzantine share of the weight",
                             .measured = Estimate::exactly(capped.largest_share),
                             .limit = kShare,
                             .reason = "lambda, at every step"});
  findings.checks.push_back({.what = label + "f-cap: slope in honest updates",
                             .measured = slope,
                             .limit = -0.5,
                             .reason = "-1/2"});
  findings.checks.push_back(
      {.what = label + "f-cap: excess over that without Byzantine workers",
       .measured = Estimate::exactly(capped.last_excess() / calm.last_excess()),
       .limit = std::sqrt((1.0 + constant_of_ctma(kShare) * m) / capped.kept),
       .reason = fmt::format("sqrt((1 + c m) / kept), kept {:.2f}", capped.kept)});
  findings.checks.push_back(
      {.what = label + "counts: excess over that with the f-cap",
       .measured = Estimate::exactly(counted.last_excess() / capped.last_excess()),
       .relation = Relation::kAtLeast,
       .limit = 10.0,
       .reason = "broken: an order of magnitude"});
}

}  // namespace

Result<Findings> check_flood(const Lab& lab) {
  std::vector<double> factors = {10.0, 100.0};
  if (!lab.is_quick) factors.push_back(1000.0);
  const std::vector<std::uint64_t> honest_updates = doublings(100, lab.pick(800, 1600));
  Findings findings;
  records::Figure figure{.stem = "flood",
                         .title = "Excess loss after the same number of honest updates",
                         .x_label = "speed of Byzantine workers, honest = 1",
                         .y_label = "f(x_T) - f(x*)",
                         .curves = {{.label = "f-cap"}, {.label = "counts"}}};
  const std::vector<std::uint64_t> last = {honest_updates.back()};
  BALLAST_TRY(const FloodCurve calm, measure(lab, {.factor = 0.0}, last));
  for (const double factor : factors) {
    BALLAST_TRY(const FloodCurve capped,
                measure(lab, {.factor = factor, .is_capped = true}, honest_updates));
    BALLAST_TRY(const FloodCurve counted, measure(lab, {.factor = factor}, last));
    judge(factor, calm, capped, counted, as_numbers(honest_updates), findings);
    for (records::FigureCurve& curve : figure.curves) curve.x.push_back(factor);
    figure.curves[0].y.push_back(capped.last_excess());
    figure.curves[1].y.push_back(counted.last_excess());
  }
  figure.curves.push_back(guide("no Byzantine workers", factors, calm.last_excess(), 0.0));
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
