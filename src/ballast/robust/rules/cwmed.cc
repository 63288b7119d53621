#include "ballast/robust/rules/rules.h"

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

}  // namespace ballast::robust
