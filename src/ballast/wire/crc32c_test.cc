#include "ballast/wire/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/wire/crc32c_ways.h"

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

using Way = std::uint32_t (*)(std::span<const std::byte>, std::byte*, std::uint32_t) noexcept;

struct NamedWay {
  std::string name;
  Way way;
};

// Those that this processor has.
std::vector<NamedWay> ways() {
  std::vector<NamedWay> found{
      {"any", [](std::span<const std::byte> bytes, std::byte* out, std::uint32_t before) noexcept {
         return out == nullptr ? crc32c(bytes, before) : crc32c_copy(bytes, out, before);
       }}};
#if defined(__x86_64__)
  if (has_crc_instruction()) found.push_back({"instruction", crc32c_by_instruction});
  if (has_wide_products()) found.push_back({"products", crc32c_by_products});
#endif
  return found;
}

// All short sizes, and around whole groups of lanes, steps of blocks and strides.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> found;
  for (std::size_t size = 0; size < 600; ++size) found.push_back(size);
  for (const std::size_t group : {768, 1024, 12'288, 24'576}) {
    for (const std::size_t size : {group - 1, group, group + 1, group + 100}) found.push_back(size);
  }
  return found;
}

TEST(Crc32c, EveryWayAgreesWithTheTableAndCopies) {
  Rng rng(5);
  for (const NamedWay& way : ways()) {
    for (const std::size_t size : sizes()) {
      SCOPED_TRACE(way.name + ", seed 5, size " + std::to_string(size));
      // At any distance from a cache line, and with margins that must stay as they are.
      const std::size_t from = rng.below(64), to = rng.below(64);
      std::vector<std::byte> bytes(from + size), copy(to + size + 64, std::byte{0xA5});
      for (auto& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
      const auto before = static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << 32));
      const auto message = std::span<const std::byte>(bytes).subspan(from);
      const std::uint32_t expected = crc32c_by_table(message, before);

      EXPECT_EQ(way.way(message, nullptr, before), expected);
      EXPECT_EQ(way.way(message, copy.data() + to, before), expected);

      std::vector<std::byte> wanted(copy.size(), std::byte{0xA5});
      std::ranges::copy(message, wanted.begin() + static_cast<std::ptrdiff_t>(to));
      EXPECT_EQ(copy, wanted);
    }
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
