#pragma once
// Coordinate-wise mean and deviation of rows weighted by counts, as colluders compute them.
//
// Requires, for both: at least one row, as many positive counts as rows, outputs of dim values.
// Cost: one pass over the table.
// Determinism: adds in the order of the rows, in double; results are saturated to the largest
// float, so finite rows of any size give finite results.

#include <algorithm>
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

// The nearest float that is finite.
inline float saturate(double value) noexcept {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLargest, kLargest));
}

}  // namespace ballast::attacks
