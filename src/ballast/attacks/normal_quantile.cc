#include "ballast/attacks/normal_quantile.h"

#include <cmath>
#include <numbers>

#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

double cumulative(double z) noexcept { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double density(double z) noexcept {
  return std::exp(-0.5 * z * z) * 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
}

// Newton's method on log P(Z <= z), which is concave: begun on the left of the root, it climbs to
// it and never overshoots. -sqrt(-2 log p) is on the left, because P(Z <= z) <= exp(-z^2 / 2) / 2.
double lower_quantile(double probability) noexcept {
  const double target = std::log(probability);
  double z = -std::sqrt(-2.0 * target);
  for (int iteration = 0; iteration < 50; ++iteration) {
    const double below = cumulative(z);
    const double step = (target - std::log(below)) * below / density(z);
    z += step;
    if (std::abs(step) <= 1e-15 * (1.0 + std::abs(z))) break;
  }
  return z;
}

}  // namespace

double normal_quantile(double probability) noexcept {
  BALLAST_CHECK(probability >= kProbabilityMin && probability < 1.0, "not a probability");
  if (probability == 0.5) return 0.0;
  // The upper half mirrors the lower one; 1 - p is exact there.
  return probability < 0.5 ? lower_quantile(probability) : -lower_quantile(1.0 - probability);
}

}  // namespace ballast::attacks
