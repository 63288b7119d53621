#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include "ballast/robust/rows/mixed_rows.h"
#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

class NearestNeighbourMixing final : public Rule {
 public:
  NearestNeighbourMixing(RulePointer base, double lambda)
      : base_(std::move(base)), lambda_(lambda) {}

  std::string text() const override { return fmt::format("nnm({}, {})", base_->text(), lambda_); }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  bool has_coefficients() const noexcept override { return base_->has_coefficients(); }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    MixedRows mixed(observed, weights, mixture(observed, weights));
    const std::span<double> of_mixed = observed.workspace().take<double>(c.size());
    base_->coefficients(mixed, weights, of_mixed, report);
    mixed.unmix(of_mixed, c);
  }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    MixedRows mixed(observed, weights, mixture(observed, weights));
    return base_->aggregate(mixed, weights, out, report);
  }

 private:
  std::span<const double> mixture(Observed& observed, const kernels::Weights& weights) const {
    const std::size_t m = observed.row_count();
    Workspace& workspace = observed.workspace();
    const Gram gram = observed.gram(weights);
    const std::span<double> matrix = workspace.take<double>(m * m);
    const std::span<double> distances = workspace.take<double>(m);
    const std::span<double> kept = workspace.take<double>(m);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < m; ++j) distances[j] = gram.squared_distance(i, j);
      distances[i] = -1.0;  // nearest to itself, before any row at distance zero
      keep_nearest(distances, weights, 1.0 - lambda_, workspace, kept);
      kept_mean(kept, weights, matrix.subspan(i * m, m));
    }
    return matrix;
  }

  RulePointer base_;
  double lambda_;
};

}  // namespace

RulePointer make_nnm(RulePointer base, double lambda) {
  return std::make_unique<NearestNeighbourMixing>(std::move(base), lambda);
}

extern constinit const RuleItem kNnmRule = {
    {.name = "nnm",
     .help = "BASE on rows replaced by the mean of their nearest neighbours",
     .paper = "Allouah et al. 2023",
     .parameters = kBaseAndLambda},
    make_from_base_and_lambda<make_nnm>};

}  // namespace ballast::robust
