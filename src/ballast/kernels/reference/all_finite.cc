#include <cmath>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

bool all_finite(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace ballast::kernels::reference
