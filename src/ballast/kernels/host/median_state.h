#pragma once
// Private to kernels/: what is remembered of each column between two updates of a coordinate-wise
// weighted median, so that replacing one row rarely needs a look at the others. Packed tightly:
// while rows hardly move, reading and writing this is most of the work.

#include <bit>
#include <cstdint>
#include <span>

#include "ballast/base/aligned.h"

namespace ballast::kernels::host {

// Whole numbers in the order of the floats, zeros of either sign alike. The map of the bits is its
// own inverse.
constexpr std::int32_t ordered_key(float value) noexcept {
  const auto bits = std::bit_cast<std::int32_t>(value + 0.0f);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

// For coordinate j, with v = median[j] (kept by the owner):
// 1. below(j) is the weight of the rows with a value < v; at(j) that of the rows with a value == v;
// 2. at(j) == 0 means "nothing is known, look at the column";
// 3. no row has a key in the open intervals (lower_key(j), key of v) and (key of v, upper_key(j)).
//
// Weights take 16 bits each while the total is below 2^16, else 32. Keys keep their upper 16 bits,
// rounded towards v, which only makes the empty intervals a little smaller.
class MedianState {
 public:
  static constexpr std::uint64_t kPackedTotalEnd = 1 << 16;

  // Forgets everything and makes room for dim coordinates and weights of this total.
  void reset(std::size_t dim, std::uint64_t total) {
    is_packed_ = total < kPackedTotalEnd;
    weights.resize(dim);
    at_weights.resize(is_packed_ ? 0 : dim);
    intervals.resize(dim);
  }
  bool is_packed() const noexcept { return is_packed_; }

  std::uint32_t below(std::size_t j) const noexcept {
    return is_packed_ ? weights[j] & 0xFFFF : weights[j];
  }
  std::uint32_t at(std::size_t j) const noexcept {
    return is_packed_ ? weights[j] >> 16 : at_weights[j];
  }
  std::int32_t lower_key(std::size_t j) const noexcept {
    return static_cast<std::int32_t>(intervals[j] << 16);
  }
  std::int32_t upper_key(std::size_t j) const noexcept {
    return static_cast<std::int32_t>(intervals[j] & 0xFFFF0000);
  }

  void set(std::size_t j, std::uint32_t below, std::uint32_t at, float lower,
           float upper) noexcept {
    weights[j] = is_packed_ ? below | at << 16 : below;
    if (!is_packed_) at_weights[j] = at;
    const auto rounded_up = static_cast<std::uint32_t>(ordered_key(lower) + 0xFFFF);
    intervals[j] = rounded_up >> 16 | (static_cast<std::uint32_t>(ordered_key(upper)) & 0xFFFF0000);
  }

  // For the kernels.
  AlignedVector<std::uint32_t> weights;     // packed: at << 16 | below; else below
  AlignedVector<std::uint32_t> at_weights;  // packed: empty
  AlignedVector<std::uint32_t> intervals;   // upper 16 bits of upper_key, then those of lower_key

 private:
  bool is_packed_ = true;
};

// One row was replaced and its weight changed; every other row and weight is as it was.
struct RowChange {
  std::size_t row;
  std::span<const float> old_values;
  std::uint32_t old_weight;
};

}  // namespace ballast::kernels::host
