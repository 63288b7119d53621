#include "ballast/robust/rules/rules.h"

#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {
namespace {

class CoordinateWiseMedian final : public Rule {
 public:
  std::string text() const override { return "cwmed"; }
  bool is_combination() const noexcept override { return false; }
  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report&) const override {
    return observed.median(weights, out);
  }
};

}  // namespace

RulePointer make_cwmed() { return std::make_unique<CoordinateWiseMedian>(); }

extern constinit const RuleItem kCwmedRule = {
    {.name = "cwmed",
     .help = "weighted coordinate-wise median, ties exact",
     .paper = "Yin et al. 2018; Dahan and Levy 2024"},
    [](const expression::Arguments&) -> Result<RulePointer> { return make_cwmed(); }};

}  // namespace ballast::robust
