#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ballast/robust/rules/rule_item.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

using kernels::Weights;

// What the weights given add up to in units of those that are shared: fine enough for parts of
// counts, and so few that kernels take 32 bits for each.
constexpr double kUnitsOfAll = 0x1p30;

constexpr double kUsualRatio = 0.45;

// The median over the rows of the median of their squared distances.
double squared_scale(const Gram& gram, const Weights& weights, Workspace& workspace) {
  const std::size_t m = gram.row_count();
  const auto distances = workspace.take<double>(m), medians = workspace.take<double>(m);
  const auto scratch = workspace.take<double>(m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) distances[j] = gram.squared_distance(i, j);
    distances[i] = 0.0;
    medians[i] = weighted_median(distances, weights, scratch);
  }
  return weighted_median(medians, weights, scratch);
}

class Distinct final : public Rule {
 public:
  Distinct(RulePointer base, double ratio) : base_(std::move(base)), ratio_(ratio) {}

  std::string text() const override {
    return ratio_ == kUsualRatio ? fmt::format("distinct({})", base_->text())
                                 : fmt::format("distinct({}, {})", base_->text(), ratio_);
  }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  bool has_coefficients() const noexcept override { return base_->has_coefficients(); }

  void coefficients(Observed& observed, const Weights& weights, std::span<double> c,
                    Report& report) const override {
    const auto parts = observed.workspace().take<double>(weights.size(), 1.0);
    base_->coefficients(observed, shared(observed, weights, parts), c, report);
    take_part(parts, report);
  }

  const kernels::Vector& aggregate(Observed& observed, const Weights& weights, kernels::Vector& out,
                                   Report& report) const override {
    const auto parts = observed.workspace().take<double>(weights.size(), 1.0);
    const kernels::Vector& result =
        base_->aggregate(observed, shared(observed, weights, parts), out, report);
    take_part(parts, report);
    return result;
  }

 private:
  static void take_part(std::span<const double> parts, Report& report) {
    if (report.kept.empty()) report.kept.assign(parts.size(), 1.0);  // of a rule that trims nothing
    for (std::size_t i = 0; i < parts.size(); ++i) report.kept[i] *= parts[i];
  }

  // The weights of which rows that are near to each other share one, and in `parts` what is left of
  // each. Where all rows are distinct these are the weights given.
  const Weights& shared(Observed& observed, const Weights& weights, std::span<double> parts) const {
    Workspace& workspace = observed.workspace();
    const std::size_t m = weights.size();
    const Gram gram = observed.gram(weights);
    const double limit = ratio_ * ratio_ * squared_scale(gram, weights, workspace);
    bool is_any_near = false;
    for (std::size_t i = 0; i < m; ++i) {
      std::uint64_t sum = 0, heaviest = 0;
      for (std::size_t j = 0; j < m; ++j) {
        if (j != i && !(gram.squared_distance(i, j) < limit)) continue;
        sum += weights.units()[j];
        heaviest = std::max(heaviest, weights.units()[j]);
        is_any_near = is_any_near || j != i;
      }
      parts[i] = static_cast<double>(heaviest) / static_cast<double>(sum);
    }
    return is_any_near ? scaled(weights, parts, workspace) : weights;
  }

  static const Weights& scaled(const Weights& weights, std::span<const double> parts,
                               Workspace& workspace) {
    const auto units = workspace.take<std::uint64_t>(weights.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      const double unit = std::round(parts[i] * weights.share(i) * kUnitsOfAll);
      units[i] = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(unit));
    }
    Weights& scaled = workspace.take_weights();
    scaled.assign_units(units);
    return scaled;
  }

  RulePointer base_;
  double ratio_;
};

constexpr expression::Parameter kParameters[] = {
    kBaseParameter,
    expression::Parameter::number("ratio", "of the typical distance: nearer rows share a weight")
        .from(0)
        .below(0.5)
        .otherwise(kUsualRatio)};

}  // namespace

RulePointer make_distinct(RulePointer base, double ratio) {
  return std::make_unique<Distinct>(std::move(base), ratio);
}

extern constinit const RuleItem kDistinctRule = {
    {.name = "distinct",
     .help = "BASE with one weight for rows that nearly coincide",
     .paper = "ours",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<RulePointer> {
      BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
      return make_distinct(std::move(base), arguments.number("ratio"));
    }};

}  // namespace ballast::robust
