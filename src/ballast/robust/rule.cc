#include "ballast/robust/rule.h"

#include "ballast/base/check.h"

namespace ballast::robust {

void Rule::coefficients(Observed&, const kernels::Weights&, std::span<double>, Report&) const {
  BALLAST_CHECK(has_coefficients(), "this rule has no coefficients");
  BALLAST_CHECK(false, "a rule that has coefficients must override coefficients()");
}

const kernels::Vector& Rule::aggregate(Observed& observed, const kernels::Weights& weights,
                                       kernels::Vector& out, Report& report) const {
  const std::span<double> c = observed.workspace().take<double>(observed.row_count());
  coefficients(observed, weights, c, report);
  observed.combine(c, out);
  return out;
}

}  // namespace ballast::robust
