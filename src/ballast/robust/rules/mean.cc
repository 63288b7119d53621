#include "ballast/robust/rules/rules.h"

#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {
namespace {

class Mean final : public Rule {
 public:
  std::string text() const override { return "mean"; }
  bool is_combination() const noexcept override { return true; }
  void coefficients(Observed&, const kernels::Weights& weights, std::span<double> c,
                    Report&) const override {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = weights.share(i);
  }
};

}  // namespace

RulePointer make_mean() { return std::make_unique<Mean>(); }

extern constinit const RuleItem kMeanRule = {
    {.name = "mean", .help = "weighted mean; not robust"},
    [](const expression::Arguments&) -> Result<RulePointer> { return make_mean(); }};

}  // namespace ballast::robust
