#include "ballast/records/crc32c.h"

#include <array>

namespace ballast::records {
namespace {

// What each byte does to the checksum; the polynomial 0x1EDC6F41 with its bits reversed.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78u : 0u);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t rest = ~0u;
  for (const char c : bytes) {
    rest = (rest >> 8) ^ kTable[(rest ^ static_cast<std::uint8_t>(c)) & 0xFF];
  }
  return ~rest;
}

}  // namespace ballast::records
