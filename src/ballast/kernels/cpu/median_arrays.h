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

  MedianArrays from(std::size_t position) const {
    if (weights == nullptr) return {median + position, nullptr, nullptr, nullptr};
    return {median + position, weights + position,
            at_weights == nullptr ? nullptr : at_weights + position, intervals + position};
  }
};

inline MedianArrays median_arrays(std::span<float> median, host::MedianState* state) {
  if (state == nullptr) return {median.data(), nullptr, nullptr, nullptr};
  return {median.data(), state->weights.data(),
          state->is_packed() ? nullptr : state->at_weights.data(), state->intervals.data()};
}

}  // namespace ballast::kernels::cpu
