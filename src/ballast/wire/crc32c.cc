#include "ballast/wire/crc32c.h"

#include <array>
#include <cstring>

namespace ballast::wire {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F6'3B78;  // bits reversed

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

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::span<const std::byte> bytes) noexcept {
  std::uint64_t crc = 0xFFFF'FFFF;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = __builtin_ia32_crc32di(crc, word);
    bytes = bytes.subspan(sizeof(word));
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) {
    rest = __builtin_ia32_crc32qi(rest, std::to_integer<std::uint8_t>(byte));
  }
  return ~rest;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = 0xFFFF'FFFF;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFu];
  }
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(bytes);
#endif
  return crc32c_by_table(bytes);
}

}  // namespace ballast::wire
