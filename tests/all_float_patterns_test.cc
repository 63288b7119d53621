// Every one of the 2^32 float bit patterns through the gate that keeps NaN and infinity out.
//
// Patterns whose exponent is 255 are exactly the NaNs and infinities, and they fill whole blocks of
// consecutive patterns. A block of finite patterns is accepted only if each of its patterns is; the
// others are tried one by one, each the only bad value in a row of good ones.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "ballast/kernels/finite.h"

namespace ballast::kernels {
namespace {

constexpr std::uint32_t kBlock = 1u << 12;
constexpr std::uint32_t kBlockCount = 1u << 20;
constexpr std::uint32_t kExponent = 0xffu << 23;

// The first patterns of the blocks with exponent 255, or of all others.
std::vector<std::uint32_t> block_starts(bool is_finite) {
  std::vector<std::uint32_t> starts;
  for (std::uint32_t block = 0; block < kBlockCount; ++block) {
    const std::uint32_t start = block * kBlock;
    if (((start & kExponent) != kExponent) == is_finite) starts.push_back(start);
  }
  return starts;
}

TEST(AllFloatPatterns, EveryFinitePatternIsAccepted) {
  std::array<float, kBlock> values;

  const std::vector<std::uint32_t> starts = block_starts(true);
  for (const std::uint32_t start : starts) {
    for (std::uint32_t i = 0; i < kBlock; ++i) values[i] = std::bit_cast<float>(start + i);
    ASSERT_TRUE(all_finite(values)) << "patterns from 0x" << std::hex << start;
  }

  EXPECT_EQ(starts.size(), 2u * 255u * ((1u << 23) / kBlock));
}

// The row is no multiple of any vector's width and the bad value wanders through it, so every lane
// and the tail are tried.
TEST(AllFloatPatterns, EveryOtherPatternIsRefusedWhereverItStands) {
  constexpr float kGood = std::numeric_limits<float>::max();
  std::array<float, 67> row;
  row.fill(kGood);

  const std::vector<std::uint32_t> starts = block_starts(false);
  for (const std::uint32_t start : starts) {
    for (std::uint32_t pattern = start; pattern != start + kBlock; ++pattern) {
      float& place = row[pattern % row.size()];
      place = std::bit_cast<float>(pattern);
      ASSERT_FALSE(all_finite(row)) << "pattern 0x" << std::hex << pattern;
      place = kGood;
    }
  }

  EXPECT_EQ(starts.size(), 2u * ((1u << 23) / kBlock));
  EXPECT_TRUE(all_finite(row));
}

}  // namespace
}  // namespace ballast::kernels
