#pragma once
// Whether values in host memory are all finite numbers, on the calling thread. For rows of a table
// see Backend::all_finite and Table::put.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace ballast::kernels {

// True if no value is NaN or infinite. Cost: one pass, as fast as memory is read.
bool all_finite(std::span<const float> values);
bool all_finite(std::span<const double> values);

// The same for a loop that makes the values: sees them one by one. A value is finite exactly when
// its bits without the sign are below those of infinity, and a maximum of whole numbers vectorises
// with the loop.
template <typename Real>
class FiniteCheck {
 public:
  void see(Real value) noexcept {
    largest_ = std::max(largest_, std::bit_cast<Bits>(value) & kWithoutSign);
  }
  bool holds() const noexcept { return largest_ < kInfinity; }

 private:
  using Bits = std::conditional_t<sizeof(Real) == sizeof(float), std::uint32_t, std::uint64_t>;
  static constexpr Bits kWithoutSign = std::numeric_limits<Bits>::max() >> 1;
  static constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<Real>::infinity());

  Bits largest_ = 0;
};

}  // namespace ballast::kernels
