#pragma once
// Private to simulate/: the problem that everybody works on, half the squared distance to the point
// (0, 1, 2, ...).

#include <cstddef>

#include "ballast/base/rng.h"

namespace ballast::simulate {

inline constexpr float kNoise = 0.1f;

// One coordinate of a gradient, with noise.
inline float toy_gradient(float model, std::size_t index, Rng& rng) {
  return model - static_cast<float>(index) + kNoise * static_cast<float>(rng.normal());
}

}  // namespace ballast::simulate
