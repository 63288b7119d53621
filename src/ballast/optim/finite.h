#pragma once
// Whether a vector holds only finite numbers, for the two precisions of this room. The kernels' own
// check is for floats only and needs a Backend.

#include <cmath>
#include <span>

namespace ballast::optim {

template <typename Real>
bool all_finite(std::span<const Real> values) noexcept {
  bool is_finite = true;
  for (const Real value : values) is_finite &= std::isfinite(value);  // no early exit: vectorises
  return is_finite;
}

}  // namespace ballast::optim
