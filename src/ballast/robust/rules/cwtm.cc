#include "ballast/robust/rules/rules.h"

#include <fmt/core.h>

#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {
namespace {

class TrimmedMean final : public Rule {
 public:
  explicit TrimmedMean(double lambda) : lambda_(lambda) {}
  std::string text() const override { return fmt::format("cwtm({})", lambda_); }
  bool is_combination() const noexcept override { return false; }
  const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                   kernels::Vector& out, Report&) const override {
    observed.trimmed_mean(weights, lambda_, out);
    return out;
  }

 private:
  double lambda_;
};

}  // namespace

RulePointer make_cwtm(double lambda) { return std::make_unique<TrimmedMean>(lambda); }

extern constinit const RuleItem kCwtmRule = {
    {.name = "cwtm",
     .help = "weighted coordinate-wise mean, LAMBDA of the weight trimmed at either end",
     .paper = "Yin et al. 2018",
     .parameters = kLambdaOnly},
    make_from_lambda<make_cwtm>};

}  // namespace ballast::robust
