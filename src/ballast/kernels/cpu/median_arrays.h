#pragma once
// What the kernels of the incremental median read and write.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/kernels/host/median_state.h"

namespace ballast::kernels::cpu {

// The median and the arrays of the MedianState that describes it (null: not wanted).
struct MedianArrays {
  float* median;
  std::uint32_t* weights;
  std::uint32_t* at_weights;  // null while the weights are packed
  std::uint32_t* intervals;

  bool is_packed() const { return at_weights == nullptr; }
  std::uint32_t unknown() const {
    return is_packed() ? host::MedianState::kUnknownPacked : host::MedianState::kUnknown;
  }

  MedianArrays from(std::size_t position) const {
    if (weights == nullptr) return {median + position, nullptr, nullptr, nullptr};
    return {median + position, weights + position,
            at_weights == nullptr ? nullptr : at_weights + position, intervals + position};
  }
};

// The row that changed.
struct ChangedRow {
  const float* old_values;
  const float* new_values;
  std::int32_t old_weight;
  std::int32_t new_weight;
};

inline MedianArrays median_arrays(std::span<float> median, host::MedianState* state) {
  if (state == nullptr) return {median.data(), nullptr, nullptr, nullptr};
  return {median.data(), state->weights.data(),
          state->is_packed() ? nullptr : state->at_weights.data(), state->intervals.data()};
}

}  // namespace ballast::kernels::cpu
