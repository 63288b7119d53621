#include "ballast/robust/gm.h"

#include <fmt/core.h>

#include <algorithm>

#include "ballast/robust/weiszfeld.h"

namespace ballast::robust {
namespace {

// Newton steps converge in about ten; Weiszfeld steps are bounded for the sake of the caller.
constexpr std::size_t kIterationsMax = 500;

// Objectives are compared less that at the centre: one row far away must not round the others' part
// away.
std::size_t row_of_smallest_objective(const Gram& gram, const kernels::Weights& weights) {
  std::size_t best = 0;
  double smallest = 0.0;
  for (std::size_t k = 0; k < gram.row_count(); ++k) {
    double objective = 0.0;
    for (std::size_t i = 0; i < gram.row_count(); ++i) {
      const double squared_gain = gram.product(k, k) - 2.0 * gram.product(i, k);
      objective += weights.share(i) * gram.gain(i, squared_gain);
    }
    if (k == 0 || objective < smallest) best = k, smallest = objective;
  }
  return best;
}

// Moves the point to one with a smaller objective, by a shortened Newton step if that helps, else
// by Weiszfeld's. False if neither helps, which happens only within rounding of the minimum.
bool descend(MedianObjective& objective, std::span<double> point, std::span<double> next) {
  const double before = objective.value();
  if (objective.find_newton_step()) {
    for (const double scale : {1.0, 0.5, 0.25}) {
      objective.newton_step(point, scale, next);
      objective.look_from(next);
      if (objective.value() < before) return std::ranges::copy(next, point.begin()), true;
    }
    objective.look_from(point);
  }
  objective.weiszfeld_step(next);
  objective.look_from(next);
  if (!(objective.value() < before)) return false;
  std::ranges::copy(next, point.begin());
  return true;
}

class GeometricMedian final : public Rule {
 public:
  explicit GeometricMedian(const GmOptions& options) : options_(options) {}

  std::string text() const override {
    std::string arguments;
    if (options_.iterations > 0) {
      arguments = fmt::format("(iterations={}{})", options_.iterations,
                              options_.starts_at_zero ? ", start=zero" : "");
    } else if (options_.tolerance != GmOptions{}.tolerance) {
      arguments = fmt::format("(tolerance={})", options_.tolerance);
    }
    return "gm" + arguments;
  }
  bool is_combination() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const Gram gram = observed.gram(weights);
    MedianObjective objective(gram, weights, observed.workspace());
    if (options_.iterations > 0) {
      take_steps(observed, weights, objective, c);
      report.iterations = options_.iterations;
    } else {
      report.iterations = converge(gram, weights, objective, observed.workspace(), c);
    }
  }

 private:
  void take_steps(Observed& observed, const kernels::Weights& weights, MedianObjective& objective,
                  std::span<double> c) const {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = weights.share(i);
    for (std::size_t step = 0; step < options_.iterations; ++step) {
      if (step == 0 && options_.starts_at_zero) {
        const std::span<double> norms = observed.workspace().take<double>(c.size());
        observed.squared_norms(norms);
        objective.look_from_origin(norms);
      } else {
        objective.look_from(c);
      }
      objective.weiszfeld_step(c);
    }
  }

  std::size_t converge(const Gram& gram, const kernels::Weights& weights,
                       MedianObjective& objective, Workspace& workspace,
                       std::span<double> c) const {
    const std::span<double> next = workspace.take<double>(c.size());
    std::ranges::fill(c, 0.0);
    c[row_of_smallest_objective(gram, weights)] = 1.0;
    objective.look_from(c);
    std::size_t iterations = 0;
    while (2.0 * objective.slope() > options_.tolerance && iterations < kIterationsMax) {
      ++iterations;
      if (!descend(objective, c, next)) break;
    }
    return iterations;
  }

  GmOptions options_;
};

}  // namespace

RulePointer make_gm(const GmOptions& options) { return std::make_unique<GeometricMedian>(options); }

}  // namespace ballast::robust
