#include <algorithm>
#include <cmath>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace ballast::kernels::reference
