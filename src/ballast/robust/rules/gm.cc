#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/solver/median_objective.h"

namespace ballast::robust {
namespace {

// Newton steps converge in about ten; Weiszfeld steps are bounded for the sake of the caller.
constexpr std::size_t kIterationsMax = 500;

// Where the rows lie on a line and either half of the weight on its own side, every point between
// two rows is a minimum. The answer is then the mean, by weight, of the rows that are minima, which
// is a minimum too and does not depend on the order of the rows.
void average_minima(const Gram& gram, const kernels::Weights& weights,
                    std::span<const double> objectives, std::size_t best, std::span<double> c) {
  constexpr double kSlopeRounding = 1e-12;
  double sum = 0.0;
  for (std::size_t k = 0; k < c.size(); ++k) {
    const double rounding = kSlopeRounding * std::sqrt(gram.squared_distance(k, best));
    c[k] = objectives[k] - objectives[best] <= rounding ? weights.share(k) : 0.0;
    sum += c[k];
  }
  for (double& coefficient : c) coefficient /= sum;
}

// Slopes are not asked to be known better than this: the second descent would find no more.
constexpr double kSlopeCertain = 1e-6;

// How often a Newton step is halved, usually and after many steps: where the rows nearly lie on a
// line and two parts of the weight nearly balance, it must be short to help, and Weiszfeld's steps
// lead nowhere. A few such steps do, and more would only let somebody make the rule slow.
constexpr int kHalvings = 2, kHalvingsMax = 30;
constexpr std::size_t kIterationsUsual = 30, kIterationsHalved = 30;

// Moves the point to one with a smaller objective, by a shortened Newton step if that helps, else
// by Weiszfeld's. False if neither helps.
bool descend(MedianObjective& objective, int halvings, std::span<double> point,
             std::span<double> next) {
  const double before = objective.value();
  if (objective.find_newton_step()) {
    for (int k = 0; k <= halvings; ++k) {
      const double scale = std::ldexp(1.0, -k);
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
    const std::span<double> objectives = workspace.take<double>(c.size());
    gram.objectives_of_rows(weights, next, objectives);
    const auto best =
        static_cast<std::size_t>(std::ranges::min_element(objectives) - objectives.begin());
    std::ranges::fill(c, 0.0);
    c[best] = 1.0;
    objective.look_from(c);
    const bool is_a_row = is_minimum(objective);
    std::size_t iterations = is_a_row ? 0 : descend_all(objective, c, next);
    const bool is_certain = is_minimum(objective) && is_slope_certain(objective);
    if (is_a_row) average_minima(gram, weights, objectives, best, c);
    if (is_certain) return iterations;
    // Rows that nearly coincide can hold it: steps from one lead to the other, and are so short
    // that rounding hides whether they help, or whether there is a slope at all. Far from all rows
    // there is no such thing.
    objective.look_from(c);
    const double from_row = objective.value();
    std::ranges::copy(c, objectives.begin());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = weights.share(i);
    objective.look_from(c);
    iterations += descend_all(objective, c, next);
    objective.look_from(c);
    if (from_row <= objective.value()) std::ranges::copy(objectives, c.begin());
    return iterations;
  }

  bool is_minimum(const MedianObjective& objective) const {
    return 2.0 * objective.slope() <= options_.tolerance;
  }

  bool is_slope_certain(const MedianObjective& objective) const {
    return 2.0 * objective.slope_rounding() <= std::max(options_.tolerance, kSlopeCertain);
  }

  // From where the objective looks, which is `c`.
  std::size_t descend_all(MedianObjective& objective, std::span<double> c,
                          std::span<double> next) const {
    for (std::size_t iterations = 0; iterations < kIterationsMax; ++iterations) {
      if (is_minimum(objective)) return iterations;
      const bool is_slow =
          iterations >= kIterationsUsual && iterations < kIterationsUsual + kIterationsHalved;
      if (!descend(objective, is_slow ? kHalvingsMax : kHalvings, c, next)) return iterations + 1;
    }
    return kIterationsMax;
  }

  GmOptions options_;
};

constexpr std::string_view kStarts[] = {"mean", "zero"};

constexpr expression::Parameter kGmParameters[] = {
    expression::Parameter::number("tolerance",
                                  "by what fraction its objective may exceed the minimum")
        .above(0)
        .otherwise(GmOptions{}.tolerance),
    expression::Parameter::whole("iterations", "steps of Weiszfeld's iteration, converged or not")
        .from(1)
        .optional("until converged"),
    expression::Parameter::word("start", kStarts, "where these steps begin").otherwise("mean")};

Result<RulePointer> make_gm_from(const expression::Arguments& arguments) {
  GmOptions options{.tolerance = arguments.number("tolerance"),
                    .starts_at_zero = arguments.word("start") == "zero"};
  if (arguments.is_given("iterations")) options.iterations = arguments.whole("iterations");
  if (options.starts_at_zero && options.iterations == 0) {
    return arguments.refuse("start",
                            "start=zero needs iterations=N: a converged median has no start");
  }
  return make_gm(options);
}

}  // namespace

RulePointer make_gm(const GmOptions& options) { return std::make_unique<GeometricMedian>(options); }

extern constinit const RuleItem kGmRule = {
    {.name = "gm",
     .help = "weighted geometric median, converged; gm(iterations=N) stops early",
     .paper = "Chen et al. 2017; Dahan and Levy 2024",
     .parameters = kGmParameters},
    make_gm_from};

}  // namespace ballast::robust
