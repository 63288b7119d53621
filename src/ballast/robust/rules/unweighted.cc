#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {
namespace {

class Unweighted final : public Rule {
 public:
  explicit Unweighted(RulePointer base) : base_(std::move(base)) {}

  std::string text() const override { return fmt::format("unweighted({})", base_->text()); }
  Status check_row_count(std::size_t rows) const override { return base_->check_row_count(rows); }
  bool is_combination() const noexcept override { return base_->is_combination(); }
  bool has_coefficients() const noexcept override { return base_->has_coefficients(); }
  void coefficients(Observed& observed, const kernels::Weights& weights, std::span<double> c,
                    Report& report) const override {
    base_->coefficients(observed, equal(observed, weights.size()), c, report);
  }
  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report& report) const override {
    return base_->aggregate(observed, equal(observed, weights.size()), out, report);
  }

 private:
  static const kernels::Weights& equal(Observed& observed, std::size_t count) {
    kernels::Weights& weights = observed.workspace().take_weights();
    weights.assign_equal(count);
    return weights;
  }

  RulePointer base_;
};

constexpr expression::Parameter kBaseOnly[] = {kBaseParameter};

Result<RulePointer> make_unweighted_from(const expression::Arguments& arguments) {
  BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
  return make_unweighted(std::move(base));
}

}  // namespace

RulePointer make_unweighted(RulePointer base) {
  return std::make_unique<Unweighted>(std::move(base));
}

extern constinit const RuleItem kUnweightedRule = {
    {.name = "unweighted", .help = "BASE with every weight equal", .parameters = kBaseOnly},
    make_unweighted_from};

}  // namespace ballast::robust
