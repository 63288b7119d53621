#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/scatter.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

// Rows whose scores differ by less than this fraction of the largest score have the same one.
constexpr double kScoreTolerance = 1e-12;

class CovarianceFilter final : public Rule {
 public:
  explicit CovarianceFilter(double lambda) : lambda_(lambda) {}

  std::string text() const override { return fmt::format("caf({})", lambda_); }
  bool is_combination() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const std::size_t m = c.size();
    const Gram gram = observed.gram(weights);
    Workspace& workspace = observed.workspace();
    const std::span<double> factors = workspace.take<double>(m, 1.0);
    const std::span<double> parts = workspace.take<double>(m);
    const std::span<double> scores = workspace.take<double>(m);
    Scatter scatter(m, workspace);
    double smallest = std::numeric_limits<double>::infinity();
    report.kept.assign(m, 1.0);
    // Every round takes a row out, so there are at most m of them.
    for (std::size_t round = 0; round < m; ++round) {
      const double left = left_parts(factors, weights, parts);
      if (round > 0 && left <= 1.0 - 2.0 * lambda_ + kShareTolerance) break;
      scatter.assign(gram, parts);
      const double variance = scatter.largest(scores) / left;
      if (variance < (1.0 - kEigenvalueTolerance) * smallest) {
        smallest = variance;
        std::ranges::copy(factors, report.kept.begin());
      }
      if (!reduce(factors, scores)) break;
    }
    kept_mean(report.kept, weights, c);
  }

 private:
  static double left_parts(std::span<const double> factors, const kernels::Weights& weights,
                           std::span<double> parts) {
    double sum = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = factors[i] * weights.share(i);
      sum += parts[i];
    }
    return sum;
  }

  // False if no row stands out any more. Rows that are out already have no score, so they do not
  // set the scale: one that lies far away would keep all others from ever losing anything.
  static bool reduce(std::span<double> factors, std::span<const double> scores) {
    const double largest = *std::ranges::max_element(scores);
    if (!(largest > 0.0)) return false;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const double rest = 1.0 - scores[i] / largest;
      factors[i] = rest <= kScoreTolerance ? 0.0 : factors[i] * rest;
    }
    return true;
  }

  double lambda_;
};

}  // namespace

RulePointer make_caf(double lambda) { return std::make_unique<CovarianceFilter>(lambda); }

extern constinit const RuleItem kCafRule = {
    {.name = "caf",
     .help = "weighted mean after rows far out along the widest direction lost weight, round by "
             "round",
     .paper = "Allouah et al. 2025b",
     .parameters = kLambdaOnly},
    make_from_lambda<make_caf>};

}  // namespace ballast::robust
