#pragma once
// Whether a vector holds only finite numbers, for the two precisions of this room. The kernels' own
// check is for floats only and needs a Backend.

#include <cmath>
#include <limits>
#include <span>

namespace ballast::optim {

template <typename Real>
bool all_finite(std::span<const Real> values) noexcept {
  int bad = 0;  // no early exit, and no std::isfinite: so it vectorises
  for (const Real value : values)
    bad |= std::abs(value) <= std::numeric_limits<Real>::max() ? 0 : 1;
  return bad == 0;
}

}  // namespace ballast::optim
