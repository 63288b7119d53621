#pragma once
// bfloat16, the upper half of a float: half the bytes on the wire, 8 bits of precision.
//
// Thread-safety: pure functions.

#include <bit>
#include <cstdint>
#include <span>

namespace ballast::wire {

// Rounds to nearest, ties to even. A NaN stays a NaN; what is above the largest bfloat16 by half a
// step or more becomes an infinity, as in any rounding.
constexpr std::uint16_t to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7FFF'FFFFu) > 0x7F80'0000u;
  // A NaN whose payload lies in the lower half would round to an infinity: set its quiet bit.
  if (is_nan) return static_cast<std::uint16_t>((bits >> 16) | 0x0040u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Exact.
constexpr float from_bfloat16(std::uint16_t value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// Requires: out.size() == values.size(), the two do not overlap.
void to_bfloat16(std::span<const float> values, std::span<std::uint16_t> out) noexcept;
void from_bfloat16(std::span<const std::uint16_t> values, std::span<float> out) noexcept;

}  // namespace ballast::wire
