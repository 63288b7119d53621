#pragma once
// What is remembered of each column between two updates of a coordinate-wise weighted median, so
// that replacing one row rarely needs a look at the others.

#include <cstdint>
#include <span>

#include "ballast/base/aligned.h"

namespace ballast::kernels {

// For coordinate j, with v = median[j] (kept by the owner):
// 1. below[j] is the weight of the rows with a value < v; at[j] that of the rows with a value == v;
// 2. at[j] == 0 means "nothing is known, look at the column";
// 3. no row has a value in the open intervals (lower[j], v) and (v, upper[j]).
struct MedianState {
  AlignedVector<std::uint32_t> below;
  AlignedVector<std::uint32_t> at;
  AlignedVector<float> lower;
  AlignedVector<float> upper;

  void resize(std::size_t dim) {
    below.resize(dim);
    at.resize(dim);
    lower.resize(dim);
    upper.resize(dim);
  }
};

// One row was replaced and its weight changed; every other row and weight is as it was.
struct RowChange {
  std::size_t row;
  std::span<const float> old_values;
  std::uint32_t old_weight;
};

}  // namespace ballast::kernels
