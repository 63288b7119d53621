#include "ballast/robust/cwmed.h"

namespace ballast::robust {
namespace {

class CoordinateWiseMedian final : public Rule {
 public:
  std::string text() const override { return "cwmed"; }
  bool is_combination() const noexcept override { return false; }
  void aggregate(Observed& observed, const kernels::Weights& weights, std::span<float> out,
                 Report&) const override {
    observed.median(weights, out);
  }
};

}  // namespace

RulePointer make_cwmed() { return std::make_unique<CoordinateWiseMedian>(); }

}  // namespace ballast::robust
