#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

// The score of each row, see rules.h.
std::span<double> scores(Observed& observed, const kernels::Weights& weights, double lambda) {
  const std::size_t m = observed.row_count();
  Workspace& workspace = observed.workspace();
  const Gram gram = observed.gram(weights);
  const std::span<double> score = workspace.take<double>(m);
  const std::span<double> distances = workspace.take<double>(m);
  const std::span<double> kept = workspace.take<double>(m);
  const double unit = 1.0 / static_cast<double>(m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) distances[j] = gram.squared_distance(i, j);
    // Row i itself comes first, at a distance below all others, and is no neighbour of itself.
    distances[i] = -1.0;
    const double company = std::max(unit, 1.0 - lambda - weights.share(i) - unit);
    keep_nearest(distances, weights, weights.share(i) + company, workspace, kept);
    score[i] = 0.0;
    for (std::size_t j = 0; j < m; ++j) {
      if (j != i) score[i] += kept[j] * weights.share(j) * distances[j];
    }
  }
  return score;
}

class Krum final : public Rule {
 public:
  Krum(double lambda, bool is_multi) : lambda_(lambda), is_multi_(is_multi) {}

  std::string text() const override {
    return fmt::format("{}({})", is_multi_ ? "multikrum" : "krum", lambda_);
  }
  bool is_combination() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    const std::span<const double> score = scores(observed, weights, lambda_);
    report.kept.assign(c.size(), 0.0);
    if (is_multi_) {
      keep_nearest(score, weights, 1.0 - lambda_, observed.workspace(), report.kept);
    } else {
      report.kept[static_cast<std::size_t>(std::ranges::min_element(score) - score.begin())] = 1.0;
    }
    kept_mean(report.kept, weights, c);
  }

 private:
  double lambda_;
  bool is_multi_;
};

}  // namespace

RulePointer make_krum(double lambda) { return std::make_unique<Krum>(lambda, false); }
RulePointer make_multikrum(double lambda) { return std::make_unique<Krum>(lambda, true); }

extern constinit const RuleItem kKrumRule = {{.name = "krum",
                                              .help = "the row in the densest company",
                                              .paper = "Blanchard et al. 2017",
                                              .parameters = kLambdaOnly},
                                             make_from_lambda<make_krum>};

extern constinit const RuleItem kMultikrumRule = {
    {.name = "multikrum",
     .help = "weighted mean of the rows in the densest company",
     .paper = "Blanchard et al. 2017",
     .parameters = kLambdaOnly},
    make_from_lambda<make_multikrum>};

}  // namespace ballast::robust
