#include <algorithm>
#include <cmath>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

bool copy_finite(std::span<const float> from, std::span<float> to) {
  std::ranges::copy(from, to.begin());
  return all_finite(to);
}

}  // namespace ballast::kernels::reference
