#include "ballast/attacks/weighted_moments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using kernels::Filling;
using kernels::TestTable;
using testing::ElementsAre;
using testing::FloatEq;

using Counts = std::vector<std::uint64_t>;

std::vector<float> scaled_mean(TestTable table, const Counts& counts, double scale) {
  std::vector<float> out(table.dim());
  write_scaled_mean(table.view(), counts, scale, out);
  return out;
}

std::vector<float> shifted_mean(TestTable table, const Counts& counts, double z) {
  std::vector<float> out(table.dim());
  write_shifted_mean(table.view(), counts, z, out);
  return out;
}

// Rows (1, 10) and (5, 10) with counts 3 and 1: the mean is (3 * 1 + 5) / 4 = 2 and 10, the
// variance (3 * 1 + 9) / 4 = 3 and 0.
TEST(WeightedMoments, MatchNumbersWorkedOutByHand) {
  TestTable table(2, 2);
  table[0] = {1.0f, 10.0f};
  table[1] = {5.0f, 10.0f};
  EXPECT_THAT(scaled_mean(table, {3, 1}, -0.5), ElementsAre(-1.0f, -5.0f));
  EXPECT_THAT(shifted_mean(table, {3, 1}, 2.0),
              ElementsAre(FloatEq(static_cast<float>(2.0 - 2.0 * std::sqrt(3.0))), 10.0f));
}

// A row that counts s times is the same as s rows that count once.
TEST(WeightedMoments, EqualThoseOfRepeatedRows) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const TestTable table = kernels::make_table(Filling::kNormal, 4, 33, seed);
    const Counts counts = {3, 1, 7, 2};
    TestTable repeated(13, 33);
    std::size_t next = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::uint64_t copy = 0; copy < counts[i]; ++copy) repeated[next++] = table[i];
    }

    const auto weighted = shifted_mean(table, counts, 1.5);
    const auto brute_force = shifted_mean(repeated, Counts(13, 1), 1.5);

    for (std::size_t j = 0; j < 33; ++j) EXPECT_NEAR(weighted[j], brute_force[j], 1e-6);
  }
}

// E x^2 - (E x)^2, the other formula for the variance.
TEST(WeightedMoments, AgreeWithTheTextbookFormula) {
  for (const std::uint64_t seed : {4, 5, 6}) {
    SCOPED_TRACE(seed);
    const TestTable table = kernels::make_table(Filling::kNormal, 5, 17, seed);
    const Counts counts = {1, 4, 9, 16, 25};
    const auto shifted = shifted_mean(table, counts, 0.7);
    for (std::size_t j = 0; j < 17; ++j) {
      double sum = 0.0, squares = 0.0;
      for (std::size_t i = 0; i < 5; ++i) {
        sum += static_cast<double>(counts[i]) * table[i][j];
        squares += static_cast<double>(counts[i]) * table[i][j] * table[i][j];
      }
      const double mean = sum / 55.0;
      EXPECT_NEAR(shifted[j], mean - 0.7 * std::sqrt(squares / 55.0 - mean * mean), 1e-6);
    }
  }
}

TEST(WeightedMoments, AreFiniteForFiniteRowsOfAnySize) {
  for (const Filling filling : kernels::kFillings) {
    const TestTable table = kernels::make_table(filling, 4, 50, 7);
    for (const Counts& counts : {Counts{1, 1, 1, 1}, Counts{1, 1'000'000'000'000, 1, 3}}) {
      for (const float value : shifted_mean(table, counts, 8.0)) EXPECT_TRUE(std::isfinite(value));
      for (const float value : scaled_mean(table, counts, -10.0)) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(WeightedMoments, SaturateAtTheLargestFloat) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  EXPECT_EQ(saturate(1e300), kLargest);
  EXPECT_EQ(saturate(-1e300), -kLargest);
  EXPECT_EQ(saturate(1.5), 1.5f);
}

}  // namespace
}  // namespace ballast::attacks
