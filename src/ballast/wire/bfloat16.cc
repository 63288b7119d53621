#include "ballast/wire/bfloat16.h"

#include <cstddef>

namespace ballast::wire {

void to_bfloat16(std::span<const float> values, std::span<std::uint16_t> out) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = to_bfloat16(values[i]);
}

void from_bfloat16(std::span<const std::uint16_t> values, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = from_bfloat16(values[i]);
}

}  // namespace ballast::wire
