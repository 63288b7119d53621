#include "ballast/wire/crc32c.h"

#include <algorithm>
#include <array>

#include "ballast/wire/crc32c_ways.h"

namespace ballast::wire {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1u) != 0 ? kPolynomial : 0u);
    }
    table[i] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

using Way = std::uint32_t (*)(std::span<const std::byte> bytes, std::byte* out,
                              std::uint32_t before) noexcept;

std::uint32_t by_table(std::span<const std::byte> bytes, std::byte* out,
                       std::uint32_t before) noexcept {
  if (out != nullptr) std::ranges::copy(bytes, out);
  return crc32c_by_table(bytes, before);
}

Way fastest_way() noexcept {
#if defined(__x86_64__)
  if (has_wide_products()) return crc32c_by_products;
  if (has_crc_instruction()) return crc32c_by_instruction;
#endif
  return by_table;
}

std::uint32_t by_fastest_way(std::span<const std::byte> bytes, std::byte* out,
                             std::uint32_t before) noexcept {
  static const Way way = fastest_way();
  return way(bytes, out, before);
}

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFu];
  }
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  return by_fastest_way(bytes, nullptr, before);
}

std::uint32_t crc32c_copy(std::span<const std::byte> bytes, std::byte* out,
                          std::uint32_t before) noexcept {
  return by_fastest_way(bytes, out, before);
}

}  // namespace ballast::wire
