#pragma once
// The step that meamed and bulyan share: in one coordinate, the mean of the values nearest to their
// median. In host memory, one column after the other; no backend has a primitive for it.

#include <cstddef>
#include <span>

#include "ballast/robust/observed.h"

namespace ballast::robust {

struct WeighedValue {
  double value = 0.0;
  double share = 0.0;  // of the weight; positive
  std::size_t row = 0;
  double distance = 0.0;  // scratch
};

// The mean by share of the entries nearest to `middle` (ties by row number), until their shares add
// up to `kept`, the last in part. Reorders the entries.
// Requires: kept > 0, no more than all shares together.
double mean_around(std::span<WeighedValue> entries, double middle, double kept);

// The weighted median of the entries: where some prefix holds half of the shares, within
// kShareTolerance, the mean of the two neighbours. Reorders the entries.
double median_of(std::span<WeighedValue> entries);

// All rows in host memory, one after the other. `scratch` is a vector of the rows' backend.
std::span<const float> read_rows(Observed& observed, kernels::Vector& scratch);

}  // namespace ballast::robust
