#include "ballast/kernels/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ballast/base/check.h"

namespace ballast::kernels {
namespace {

constexpr double kExactSumMax = 0x1.0p53;
constexpr int kTotalBits = 61;

bool all_whole(std::span<const double> weights, double sum) {
  return sum <= kExactSumMax &&
         std::ranges::all_of(weights, [](double w) { return w == std::floor(w); });
}

Status check_each(std::span<const double> weights) {
  if (weights.empty()) return invalid_argument("there are no weights; give one for each row");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0.0) || !std::isfinite(weights[i])) {
      return invalid_argument(
          fmt::format("weight {} is {}; weights must be positive and finite", i, weights[i]));
    }
  }
  return {};
}

}  // namespace

Result<Weights> Weights::make(std::span<const double> weights) {
  Weights made;
  BALLAST_TRY_STATUS(made.assign(weights));
  return made;
}

Weights Weights::equal(std::size_t count) {
  Weights made;
  made.assign_equal(count);
  return made;
}

Status Weights::assign(std::span<const double> weights) {
  BALLAST_TRY_STATUS(check_each(weights));
  // Divided by the largest first: the sum of huge weights must not overflow.
  const int top = std::ilogb(*std::ranges::max_element(weights));
  double sum = 0.0;
  for (const double weight : weights) sum += std::scalbn(weight, -top);
  const double unscaled = std::scalbn(sum, top);
  const int exponent = std::isfinite(unscaled) && all_whole(weights, unscaled)
                           ? 0
                           : kTotalBits - 1 - std::ilogb(sum) - top;
  units_.clear();
  for (const double weight : weights) {
    const double scaled = std::nearbyint(std::scalbn(weight, exponent));
    units_.push_back(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled)));
  }
  reduce();
  return {};
}

void Weights::assign_equal(std::size_t count) {
  units_.assign(count, 1);
  total_ = count;
}

void Weights::assign_units(std::span<const std::uint64_t> units) {
  units_.assign(units.begin(), units.end());
  BALLAST_CHECK(std::ranges::all_of(units_, [](std::uint64_t u) { return u >= 1; }),
                "a weight of zero units");
  reduce();
}

// Divides by the greatest common divisor where that can make the sum fit into 32-bit lanes. Counts
// that fit anyway stay as they are, so that one count growing by one leaves the others alone.
void Weights::reduce() noexcept {
  total_ = std::accumulate(units_.begin(), units_.end(), std::uint64_t{0});
  BALLAST_CHECK(total_ < (std::uint64_t{1} << 62), "the sum of the weights overflows");
  if (is_narrow()) return;
  std::uint64_t divisor = 0;
  for (const std::uint64_t unit : units_) divisor = std::gcd(divisor, unit);
  for (std::uint64_t& unit : units_) unit /= divisor;
  total_ /= divisor;
}

}  // namespace ballast::kernels
