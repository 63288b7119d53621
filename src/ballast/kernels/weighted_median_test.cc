// The median by sorting orders values by their upper bits first. Here are the tables in which that
// is not enough: neighbouring floats, ties, zeros of either sign; for every number of rows and on
// every instruction set the machine has, against the plain twin, bit for bit.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/target_for_test.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels {
namespace {

// Up to more than are ever sorted.
constexpr std::size_t kHeights[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                                    31, 32, 33, 34, 40, 47, 48, 49, 56, 63, 64, 65, 67};

void expect_bits(std::span<const float> expected, std::span<const float> actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]), std::bit_cast<std::uint32_t>(actual[j]))
        << "coordinate " << j << ": " << expected[j] << " and " << actual[j];
  }
}

// The median of the table from nothing and from a wrong one, against the reference.
void expect_exact(TestTable& table, const Weights& weights) {
  std::vector<float> expected(table.dim()), full(table.dim()), refined(table.dim(), 1.0f);
  host::make_reference_primitives()->weighted_median(table.view(), weights, expected);
  const auto cpu = host::make_cpu_primitives(1);
  cpu->weighted_median(table.view(), weights, full);
  expect_bits(expected, full);
  cpu->refine_median(table.view(), weights, refined, nullptr);
  expect_bits(expected, refined);
}

// Calls fill(rng) for each value of tables of every height, with every kind of weights.
template <typename Fill>
void expect_exact_for_all_heights(const Fill& fill) {
  on_each_target([&] {
    for (const std::size_t rows : kHeights) {
      for (const Weighting weighting : kWeightings) {
        SCOPED_TRACE(testing::Message() << rows << " rows, weighting "
                                        << static_cast<int>(weighting) << ", seed " << rows);
        Rng rng(rows);
        TestTable table(rows, 150);
        for (std::size_t i = 0; i < rows; ++i) {
          for (float& value : table[i]) value = fill(rng);
        }
        expect_exact(table, *Weights::make(make_weights(weighting, rows, rows)));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

float neighbour(std::uint32_t bits, std::uint64_t steps) {
  return std::bit_cast<float>(bits + static_cast<std::uint32_t>(steps));
}

TEST(WeightedMedian, IsExactAmongNeighbouringFloats) {
  expect_exact_for_all_heights([](Rng& rng) { return neighbour(0x3F7FFFF0, rng.below(48)); });
}

TEST(WeightedMedian, IsExactAmongNeighboursOfEitherSign) {
  expect_exact_for_all_heights([](Rng& rng) {
    return neighbour(rng.below(2) == 0 ? 0x40A00010u : 0xC0A00010u, rng.below(40));
  });
}

TEST(WeightedMedian, IsExactAmongZerosAndTheSmallestFloats) {
  expect_exact_for_all_heights([](Rng& rng) {
    return neighbour(rng.below(2) == 0 ? 0u : 0x80000000u, rng.below(3) * rng.below(20));
  });
}

// As where gradients are zero: most columns hold nothing else, some others as small as can be.
TEST(WeightedMedian, IsExactWhereMostRowsAreZero) {
  expect_exact_for_all_heights([](Rng& rng) {
    const std::uint64_t steps = rng.below(60) == 0 ? 1 + rng.below(20) : 0;
    return rng.below(40) == 0 ? static_cast<float>(rng.normal())
                              : neighbour(rng.below(2) == 0 ? 0u : 0x80000000u, steps);
  });
}

TEST(WeightedMedian, IsExactWhereMostRowsAreEqual) {
  expect_exact_for_all_heights([](Rng& rng) {
    const std::uint32_t value = rng.below(40) == 0 ? 0xBF7FFFF0u : 0x3F7FFFF0u;
    return neighbour(value, rng.below(30) == 0 ? rng.below(3) : 1);
  });
}

TEST(WeightedMedian, IsExactAmongTheLargestFloats) {
  expect_exact_for_all_heights([](Rng& rng) {
    return neighbour(rng.below(2) == 0 ? 0x7F7FFFC0u : 0xFF7FFFC0u, rng.below(64));
  });
}

TEST(WeightedMedian, IsExactAmongAFewWholeNumbers) {
  expect_exact_for_all_heights([](Rng& rng) { return static_cast<float>(rng.below(4)); });
}

TEST(WeightedMedian, IsExactAmongDistinctValues) {
  expect_exact_for_all_heights([](Rng& rng) { return static_cast<float>(rng.normal()); });
}

// Of many rows, values are sought between cuts: among ties, few or many in one place, with outliers
// of any size, where brackets do not close evenly, and where the last columns are padded.
TEST(WeightedMedian, IsExactOfManyRows) {
  const auto value_of_kind = [](std::size_t kind, Rng& rng) {
    const auto normal = static_cast<float>(rng.normal());
    if (kind == 0) return normal;
    if (kind == 1) return static_cast<float>(rng.below(30));
    if (kind == 2) return rng.below(2) == 0 ? 7.0f : normal;
    if (kind == 3) return rng.below(3) == 0 ? std::copysign(3e38f, normal) : normal;
    return neighbour(0x3F7FFFF0, rng.below(48));
  };
  on_each_target([&] {
    for (const std::size_t rows : {68, 100, 131, 256, 1030}) {
      for (std::size_t kind = 0; kind < 5; ++kind) {
        for (const Weighting weighting : kWeightings) {
          SCOPED_TRACE(testing::Message() << rows << " rows, kind " << kind << ", weighting "
                                          << static_cast<int>(weighting) << ", seed " << kind);
          Rng rng(kind);
          TestTable table(rows, 150);
          for (std::size_t i = 0; i < rows; ++i) {
            for (float& value : table[i]) value = value_of_kind(kind, rng);
          }
          expect_exact(table, *Weights::make(make_weights(weighting, rows, rows)));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

// Of which memory is asked for ahead of time, up to the last columns and beyond.
TEST(WeightedMedian, IsExactInTablesLargerThanTheCaches) {
  TestTable table(17, 250'003);
  Rng rng(17);
  for (std::size_t i = 0; i < 17; ++i) {
    for (float& value : table[i]) value = neighbour(0x3F800000, rng.below(1 << 20));
  }
  const Weights weights = *Weights::make(make_weights(Weighting::kSmallCounts, 17, 17));
  on_each_target([&] { expect_exact(table, weights); });
}

TEST(WeightedMedian, OfEqualRowsIsTheirValue) {
  for (const float value : {0.0f, 1.5f, -3e38f, 1e-44f}) {
    expect_exact_for_all_heights([&](Rng&) { return value; });
  }
}

// Two and two: half of the weight lies on either side of a boundary between upper bits, and the
// mean of the two neighbours, which no float is, goes to the one whose last bit is zero.
TEST(WeightedMedian, IsTheMidpointAcrossABoundaryOfTheUpperBits) {
  on_each_target([] {
    TestTable table(4, 70);
    const float below = neighbour(0x3F80001F, 0), above = neighbour(0x3F800020, 0);
    const float values[] = {above, below, 2.0f, -7.0f};
    for (std::size_t i = 0; i < 4; ++i) table[i].assign(70, values[i]);
    std::vector<float> median(70);
    host::make_cpu_primitives(1)->weighted_median(table.view(), Weights::equal(4), median);
    expect_bits(std::vector<float>(70, above), median);
  });
}

TEST(WeightedMedian, OfNegativeZerosIsPositiveZero) {
  on_each_target([] {
    TestTable table(3, 70);
    for (std::size_t i = 0; i < 3; ++i) table[i].assign(70, -0.0f);
    std::vector<float> median(70, 1.0f);
    host::make_cpu_primitives(1)->weighted_median(table.view(), Weights::equal(3), median);
    expect_bits(std::vector<float>(70, 0.0f), median);
  });
}

// The largest sum of weights that 32 bits are used for.
TEST(WeightedMedian, IsExactWithTheLargestNarrowWeights) {
  on_each_target([] {
    TestTable table = make_table(Filling::kNormal, 5, 200, 1);
    const std::uint64_t half = std::uint64_t{1} << 30;
    for (const std::uint64_t last : {half - 4, half - 5}) {
      Weights weights;
      weights.assign_units(std::vector<std::uint64_t>{1, 1, half, 1, last});
      ASSERT_TRUE(weights.is_narrow());
      expect_exact(table, weights);
    }
  });
}

void expect_goal(const cpu::RankGoal& goal, std::int32_t weight, std::size_t first_rank,
                 std::size_t last_rank) {
  EXPECT_EQ(goal.weight, weight);
  EXPECT_EQ(goal.first_rank, first_rank);
  EXPECT_EQ(goal.last_rank, last_rank);
}

TEST(RankGoal, KnowsAtWhichRanksAWeightCanBeReached) {
  const std::int32_t counts[] = {300, 100, 200, 500, 400};
  expect_goal(cpu::make_rank_goal(counts, 750), 750, 1, 3);  // 500 + 400; 100 + 200 + 300 + 400
  expect_goal(cpu::make_rank_goal(counts, 1), 1, 0, 0);
  expect_goal(cpu::make_rank_goal(counts, 1500), 1500, 4, 4);

  const std::int32_t lone[] = {9, 1, 1};
  expect_goal(cpu::make_rank_goal(lone, 6), 6, 0, 2);

  const std::int32_t equal[] = {1, 1, 1, 1, 1};
  expect_goal(cpu::make_rank_goal(equal, 3), 3, 2, 2);
}

TEST(SortPlan, HasWeightsForCodesWhereTheyTakeFewBits) {
  const std::int32_t light[] = {3, 1, 4};
  const auto plan = cpu::make_sort_plan(light);
  EXPECT_TRUE(plan.has_weights);
  EXPECT_EQ(plan.code_mask, 7u);
  EXPECT_EQ(plan.codes[2], cpu::SortPlan::kSignBit | 4u);

  const std::int32_t heavy[] = {3, 1 << cpu::kWeightBitsMax, 4};
  const auto numbered = cpu::make_sort_plan(heavy);
  EXPECT_FALSE(numbered.has_weights);
  EXPECT_EQ(numbered.code_mask, 31u);
  EXPECT_EQ(numbered.codes[2], cpu::SortPlan::kSignBit | 2u);
  EXPECT_EQ(numbered.weights[1], 1 << cpu::kWeightBitsMax);
}

}  // namespace
}  // namespace ballast::kernels
