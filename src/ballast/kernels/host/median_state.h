#pragma once
// Private to kernels/: what is remembered of each column between two updates of a coordinate-wise
// weighted median, so that replacing one row rarely needs a look at the others. Packed tightly:
// while rows hardly move, reading and writing this is most of the work.

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "ballast/base/aligned.h"

namespace ballast::kernels::host {

// The nearest value with nothing in the lower 16 bits that is not below, or not above. Truncation
// goes towards zero.
constexpr float rounded_up(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t away = (bits >> 31) == 0 ? 0xFFFF : 0;
  return std::bit_cast<float>((bits + away) & 0xFFFF0000);
}
constexpr float rounded_down(float value) noexcept { return -rounded_up(-value); }

// For coordinate j, with v = median[j] (kept by the owner):
// 1. below(j) is the weight of the rows with a value < v; at(j) that of the rows with a value == v;
// 2. at(j) == 0 means "nothing is known, look at the column"; below(j) is then more than any total,
//    and no value lies between lower(j) and upper(j), so that no change of a row looks as if that
//    had changed;
// 3. no row has a value in the open intervals (lower(j), v) and (v, upper(j)).
//
// Weights take 16 bits each while the total is below 2^16, else 32. The ends of the intervals keep
// their upper 16 bits, rounded towards v, which only makes the empty intervals a little smaller.
class MedianState {
 public:
  static constexpr std::uint64_t kPackedTotalEnd = 1 << 16;
  // The weight below where nothing is known.
  static constexpr std::uint32_t kUnknownPacked = 0xFFFF, kUnknown = 0x7FFFFFFF;

  // What is kept of both ends of the intervals. Ends that were kept before stay as they are.
  static constexpr std::uint32_t interval_of(float lower, float upper) noexcept {
    return std::bit_cast<std::uint32_t>(rounded_up(lower)) >> 16 |
           std::bit_cast<std::uint32_t>(rounded_down(upper));
  }
  static constexpr float lower_of(std::uint32_t interval) noexcept {
    return std::bit_cast<float>(interval << 16);
  }
  static constexpr float upper_of(std::uint32_t interval) noexcept {
    return std::bit_cast<float>(interval & 0xFFFF0000);
  }

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
  float lower(std::size_t j) const noexcept { return lower_of(intervals[j]); }
  float upper(std::size_t j) const noexcept { return upper_of(intervals[j]); }

  void set(std::size_t j, std::uint32_t below, std::uint32_t at, float lower,
           float upper) noexcept {
    weights[j] = is_packed_ ? below | at << 16 : below;
    if (!is_packed_) at_weights[j] = at;
    intervals[j] = interval_of(lower, upper);
  }

  void set_unknown(std::size_t j) noexcept {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    set(j, is_packed_ ? kUnknownPacked : kUnknown, 0, kInfinity, -kInfinity);
  }

  // For the kernels.
  AlignedVector<std::uint32_t> weights;     // packed: at << 16 | below; else below
  AlignedVector<std::uint32_t> at_weights;  // packed: empty
  AlignedVector<std::uint32_t> intervals;   // upper 16 bits of upper(), then those of lower()

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
