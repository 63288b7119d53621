#include "ballast/attacks/distance_attacks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using kernels::TestTable;
using Counts = std::vector<std::uint64_t>;

std::vector<float> sent(const AttackPointer& attack, TestTable& honest, const Counts& counts) {
  std::vector<float> update(honest.dim(), 7.0f);
  attack->collude({.honest_rows = honest.view(), .honest_counts = counts, .model = {}}, update);
  return update;
}

double squared_distance(const std::vector<float>& a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += std::pow(double{a[j]} - double{b[j]}, 2.0);
  return sum;
}

// Rows 1 and 3: mean 2, deviation 1, 2 apart. Against the mean, 1 is the farthest from 3: gamma 1.
TEST(MinMax, ReachesAsFarAsTheRowsLieApart) {
  TestTable honest(2, 1);
  honest[0] = {1.0f};
  honest[1] = {3.0f};
  EXPECT_FLOAT_EQ(sent(make_min_max(AwayFrom::kDeviation), honest, {1, 1})[0], 1.0f);
  EXPECT_FLOAT_EQ(sent(make_min_max(AwayFrom::kUnit), honest, {1, 1})[0], 1.0f);
  EXPECT_FLOAT_EQ(sent(make_min_max(AwayFrom::kSign), honest, {1, 1})[0], 1.0f);
}

// Sums of squared distances are 4 from either row; from 2 - gamma, (1 - gamma)^2 + (1 + gamma)^2.
TEST(MinSum, ReachesAsFarAsTheLargestSumAllows) {
  TestTable honest(2, 1);
  honest[0] = {1.0f};
  honest[1] = {3.0f};
  EXPECT_FLOAT_EQ(sent(make_min_sum(AwayFrom::kSign), honest, {1, 1})[0], 1.0f);
  // Counts 3 and 1: mean 1.5, the sums are 1 * 4 and 3 * 4, and 4 gamma^2 + 3 = 12.
  EXPECT_FLOAT_EQ(sent(make_min_sum(AwayFrom::kSign), honest, {3, 1})[0], 0.0f);
}

// The bound is met, and a little farther it would be broken.
TEST(DistanceAttacks, MeetTheirBoundExactly) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t rows = 2 + seed % 7;
    TestTable honest = kernels::make_table(kernels::Filling::kNormal, rows, 1 + seed % 9, seed);
    Counts counts;
    for (std::size_t i = 0; i < rows; ++i) counts.push_back(1 + (seed + i) % 4);
    for (const AwayFrom away : {AwayFrom::kDeviation, AwayFrom::kUnit, AwayFrom::kSign}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " away " << static_cast<int>(away));
      double widest = 0.0, largest_sum = 0.0, farthest = 0.0, sum = 0.0;
      const std::vector<float> max = sent(make_min_max(away), honest, counts);
      const std::vector<float> least = sent(make_min_sum(away), honest, counts);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::vector<float> row(honest[i].begin(), honest[i].end());
        double of_row = 0.0;
        for (std::size_t k = 0; k < rows; ++k) {
          widest = std::max(widest, squared_distance(row, honest[k]));
          of_row += double(counts[k]) * squared_distance(row, honest[k]);
        }
        largest_sum = std::max(largest_sum, of_row);
        farthest = std::max(farthest, squared_distance(max, honest[i]));
        sum += double(counts[i]) * squared_distance(least, honest[i]);
      }
      EXPECT_NEAR(farthest, widest, 1e-5 * widest);
      EXPECT_NEAR(sum, largest_sum, 1e-5 * largest_sum);
    }
  }
}

TEST(DistanceAttacks, StayFiniteAndQuietWithNothingToMeasure) {
  for (const AwayFrom away : {AwayFrom::kDeviation, AwayFrom::kUnit, AwayFrom::kSign}) {
    for (const AttackPointer& attack : {make_min_max(away), make_min_sum(away)}) {
      EXPECT_TRUE(attack->colludes());
      TestTable one(1, 2);
      one[0] = {2.0f, 0.0f};
      EXPECT_EQ(sent(attack, one, {5}), (std::vector<float>{2.0f, 0.0f}));
      for (const kernels::Filling filling : kernels::kFillings) {
        TestTable hostile = kernels::make_table(filling, 5, 9, 1);
        for (const float value : sent(attack, hostile, {1, 2, 3, 4, 5})) {
          EXPECT_TRUE(std::isfinite(value));
        }
      }
    }
  }
}

}  // namespace
}  // namespace ballast::attacks
