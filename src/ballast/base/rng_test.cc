#include "ballast/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace ballast {
namespace {

// Known-answer vectors published with the Random123 library (kat_vectors, philox4x32-10).
TEST(Philox, MatchesThePublishedVectors) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, StreamsDifferInEveryPartOfTheKey) {
  const std::vector<RngKey> keys = {
      {1, 0, 0, 0}, {2, 0, 0, 0}, {1, 1, 0, 0}, {1, 0, 1, 0}, {1, 0, 0, 1}};
  std::set<std::uint64_t> first;
  for (const RngKey& key : keys) first.insert(Rng(key).next_u64());
  EXPECT_EQ(first.size(), keys.size());
}

TEST(Rng, RepeatsFromTheSameKey) {
  Rng one(RngKey{7, 1, 2, 3});
  Rng two(RngKey{7, 1, 2, 3});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next_u64(), two.next_u64());
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
  Rng rng(3);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen[rng.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 200);
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  Rng rng(5);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
  EXPECT_NEAR(fourths / kDraws, 3.0, 0.15);
}

}  // namespace
}  // namespace ballast
