#include "ballast/wire/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/rng.h"

namespace ballast::wire {
namespace {

std::uint32_t of_text(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

// RFC 3720, section B.4, and the check value of the polynomial's catalogue entry.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(of_text("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0x00})), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43u);
  EXPECT_EQ(of_text(""), 0u);
}

TEST(Crc32c, TheInstructionAgreesWithTheTable) {
  Rng rng(5);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 200; ++size) sizes.push_back(size);
  // Around whole groups of three lanes.
  for (const std::size_t group : {12'288, 24'576}) {
    for (const std::size_t size : {group - 1, group, group + 1, group + 100}) sizes.push_back(size);
  }
  for (const std::size_t size : sizes) {
    SCOPED_TRACE("seed 5, size " + std::to_string(size));
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
    EXPECT_EQ(crc32c(bytes), crc32c_by_table(bytes));
  }
}

TEST(Crc32c, GoesOnFromWhatStoodBefore) {
  std::vector<std::byte> bytes(30'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : {0u, 1u, 8u, 12'289u, 30'000u}) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all));
    EXPECT_EQ(crc32c_by_table(all.subspan(cut), crc32c_by_table(all.first(cut))), crc32c(all));
  }
}

}  // namespace
}  // namespace ballast::wire
