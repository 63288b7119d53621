#include "ballast/verify/rates.h"

#include <cmath>
#include <utility>

#include "ballast/verify/descent_watch.h"
#include "ballast/verify/runs.h"

namespace ballast::verify {
namespace {

struct Point {
  double excess = 0.0;
  double bound = 0.0;
  double bound_by_errors = 0.0;
};

Result<Point> measure_point(const Lab& lab, const RateSetting& setting, std::size_t updates,
                            std::uint64_t seed) {
  TrialOptions options = setting.trial;
  options.updates = updates;
  options.seed = seed;
  const double eta = theory_eta(*setting.problem, updates);
  DescentWatch watch(*setting.problem, eta);
  StepObserver* const steps[] = {&watch};
  BALLAST_TRY(const TrialResult result,
              run_trial(*setting.problem, options, lab.components, {.steps = steps}));
  const BoundOptions bound{.constants = setting.problem->constants(),
                           .rule_constant = setting.rule_constant,
                           .worker_count = options.workers.total(),
                           .eta = eta,
                           .kept = 1.0 - options.share};
  return Point{.excess = watch.excess(),
               .bound = excess_bound(bound, delays_of(result.arrivals, options.workers)),
               .bound_by_errors = excess_bound_by_errors(bound.constants, eta, watch.errors())};
}

Result<std::vector<Point>> measure_curve(const Lab& lab, const RateSetting& setting,
                                         const std::vector<std::uint64_t>& updates,
                                         std::uint64_t seed) {
  std::vector<Point> points;
  for (const std::uint64_t count : updates) {
    BALLAST_TRY(const Point point, measure_point(lab, setting, count, seed));
    points.push_back(point);
  }
  return points;
}

}  // namespace

Estimate RateCurve::slope() const {
  return over_groups(excess, excess.size(),
                     [&](std::span<const double> values) { return log_slope(updates, values); });
}

records::FigureCurve RateCurve::drawn(const std::string& label) const {
  return {.label = label, .x = updates, .y = mean_excess()};
}

Result<std::vector<RateCurve>> measure_rates(const Lab& lab, std::span<const RateSetting> settings,
                                             const std::vector<std::uint64_t>& updates,
                                             std::size_t seeds) {
  BALLAST_TRY(const auto measured, run_all(lab, settings.size() * seeds, [&](std::size_t i) {
                return measure_curve(lab, settings[i / seeds], updates, i % seeds + 1);
              }));
  std::vector<RateCurve> curves(settings.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    RateCurve& curve = curves[i / seeds];
    curve.updates.assign(updates.begin(), updates.end());
    curve.bounds.resize(updates.size());
    curve.bounds_by_errors.resize(updates.size());
    std::vector<double>& excess = curve.excess.emplace_back();
    for (std::size_t k = 0; k < updates.size(); ++k) {
      excess.push_back(measured[i][k].excess);
      curve.bounds[k] += measured[i][k].bound / static_cast<double>(seeds);
      curve.bounds_by_errors[k] += measured[i][k].bound_by_errors / static_cast<double>(seeds);
    }
  }
  return curves;
}

records::FigureCurve guide(const std::string& label, std::span<const double> x, double y,
                           double slope) {
  records::FigureCurve curve{.label = label, .x = {x.begin(), x.end()}, .is_reference = true};
  for (const double value : x) curve.y.push_back(y * std::pow(value / x[0], slope));
  return curve;
}

}  // namespace ballast::verify
