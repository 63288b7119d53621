#pragma once
// Coordinate-wise mean and deviation of rows weighted by counts, as colluders compute them.
//
// Requires, for both: at least one row, as many positive counts as rows, outputs of dim values.
// Cost: one pass over the table.
// Determinism: adds in the order of the rows, in double; results are saturated to the largest
// float, so finite rows of any size give finite results.

#include <cstdint>
#include <limits>
#include <span>

#include "ballast/kernels/rows.h"

namespace ballast::attacks {

// out[j] = scale * mean[j], where mean = sum_i s_i row_i / sum_i s_i.
void write_scaled_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double scale,
                       std::span<float> out);

// out[j] = mean[j] - z * deviation[j], where deviation^2 = sum_i s_i (row_i - mean)^2 / sum_i s_i:
// the deviation of the weighted distribution itself, without a correction for small samples.
void write_shifted_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double z,
                        std::span<float> out);

// The nearest float that is finite. Rounded first and then limited: so loops around it vectorise.
inline float saturate(double value) noexcept {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(value);
  const float below = rounded > kLargest ? kLargest : rounded;
  return below < -kLargest ? -kLargest : below;
}

}  // namespace ballast::attacks
