#include "ballast/sim/share.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace ballast::sim {
namespace {

constexpr std::uint64_t kDenominatorMax = 1'000'000;
constexpr double kTolerance = 1e-12;
constexpr double kRounding = 1e-15;  // of a double below 1 and of a quotient
constexpr std::uint64_t kFineDenominator = std::uint64_t{1} << 31;

struct Fraction {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;

  double distance_to(double value) const noexcept {
    return std::abs(static_cast<double>(numerator) / static_cast<double>(denominator) - value);
  }
};

// The last convergent of the continued fraction with a denominator that is not too large. A
// quotient that rounding puts below its whole number is mended by the next one, which is then 1.
Fraction last_convergent(double value) {
  Fraction before{.numerator = 1, .denominator = 0}, last;
  double rest = value;
  while (last.distance_to(value) > kRounding) {
    const double inverse = 1.0 / rest;
    if (!(inverse <= static_cast<double>(kDenominatorMax))) break;
    const auto whole = static_cast<std::uint64_t>(inverse);
    const Fraction next{.numerator = whole * last.numerator + before.numerator,
                        .denominator = whole * last.denominator + before.denominator};
    if (next.denominator > kDenominatorMax) break;
    before = std::exchange(last, next);
    rest = inverse - static_cast<double>(whole);
  }
  return last;
}

}  // namespace

Result<Share> Share::make(double value) {
  if (!(value >= 0.0 && value < 1.0)) {
    return invalid_argument(fmt::format("the share {} is not at least 0 and below 1", value));
  }
  const Fraction meant = last_convergent(value);
  if (meant.distance_to(value) <= kTolerance && meant.numerator < meant.denominator) {
    return Share(meant.numerator, meant.denominator);
  }
  const double fine = std::floor(value * static_cast<double>(kFineDenominator));
  return Share(static_cast<std::uint64_t>(fine), kFineDenominator);
}

}  // namespace ballast::sim
