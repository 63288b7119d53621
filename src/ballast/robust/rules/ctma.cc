#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {
namespace {

class Ctma final : public Rule {
 public:
  Ctma(RulePointer base, double lambda) : base_(std::move(base)), lambda_(lambda) {}

  std::string text() const override { return fmt::format("ctma({}, {})", base_->text(), lambda_); }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  bool has_coefficients() const noexcept override { return true; }

  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    Workspace& workspace = observed.workspace();
    const std::span<double> distances = workspace.take<double>(c.size());
    if (is_combination()) {
      base_->coefficients(observed, weights, c, report);
      observed.gram(weights).squared_distances(c, distances);
    } else {
      kernels::Vector& scratch = workspace.take_vector(observed.backend(), observed.dim());
      observed.squared_distances(base_->aggregate(observed, weights, scratch, report), distances);
    }
    trim(distances, observed, weights, c, report);
  }

  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    if (is_combination()) return Rule::aggregate(observed, weights, out, report);
    const kernels::Vector& anchor = base_->aggregate(observed, weights, out, report);
    const std::span<double> distances = observed.workspace().take<double>(observed.row_count());
    const std::span<double> c = observed.workspace().take<double>(observed.row_count());
    observed.squared_distances(anchor, distances);
    trim(distances, observed, weights, c, report);
    observed.combine(c, out);
    return out;
  }

 private:
  void trim(std::span<const double> distances, Observed& observed, const kernels::Weights& weights,
            std::span<double> c, Report& report) const {
    report.kept.resize(c.size());
    keep_nearest(distances, weights, 1.0 - lambda_, observed.workspace(), report.kept);
    kept_mean(report.kept, weights, c);
  }

  RulePointer base_;
  double lambda_;
};

}  // namespace

RulePointer make_ctma(RulePointer base, double lambda) {
  return std::make_unique<Ctma>(std::move(base), lambda);
}

extern constinit const RuleItem kCtmaRule = {
    {.name = "ctma",
     .help = "weighted mean of the rows nearest to BASE, the farthest LAMBDA of the weight trimmed",
     .paper = "Dahan and Levy 2024, Algorithm 1",
     .parameters = kBaseAndLambda},
    make_from_base_and_lambda<make_ctma>};

}  // namespace ballast::robust
