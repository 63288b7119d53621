#pragma once
// Where a trimmed mean cuts: on a line as long as the total weight, on which the sorted rows lie
// end to end, each as long as its weight.

#include <cmath>
#include <cstdint>

namespace ballast::kernels {

struct TrimCuts {
  double low;
  double high;
};

// Cuts the share `trim` from either end. A trim such as 1/49 is not exact in a double, and a cut
// just short of a whole number would leave a sliver of a row that was to be trimmed, which is
// enough for a huge value to show; so a cut within 1e-12 of the total of a whole number is that
// number, unless nothing would be left. Requires: trim < 1/2.
inline TrimCuts trim_cuts(double trim, std::uint64_t total) noexcept {
  const double length = static_cast<double>(total);
  const double low = trim * length, whole = std::round(low);
  const bool is_whole = std::abs(low - whole) <= 1e-12 * length && 2.0 * whole < length;
  const double cut = is_whole ? whole : low;
  return {cut, length - cut};
}

}  // namespace ballast::kernels
