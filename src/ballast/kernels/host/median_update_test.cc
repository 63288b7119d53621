// The incremental weighted median: after any history of replaced rows and growing counts it equals
// the median computed from nothing, bit for bit, and what it remembers is true.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>

#include "ballast/kernels/cpu/target_for_test.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels::host {
namespace {

struct Scenario {
  std::size_t rows, dim;
  Filling filling;
  bool is_settled;  // small moves; else a new draw every time
  std::uint64_t count_min = 1;
  int steps = 60;
  std::uint64_t seeds = 3;

  friend void PrintTo(const Scenario& scenario, std::ostream* out) {
    *out << scenario.rows << " x " << scenario.dim << ", filling "
         << static_cast<int>(scenario.filling) << (scenario.is_settled ? ", settled" : "");
  }
};

class MedianUpdateTest : public testing::TestWithParam<Scenario> {
 protected:
  void expect_exact(TestTable& table, const Weights& weights, const std::vector<float>& median) {
    std::vector<float> expected(table.dim());
    reference_->weighted_median(table.view(), weights, expected);
    for (std::size_t j = 0; j < table.dim(); ++j) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]), std::bit_cast<std::uint32_t>(median[j]))
          << "coordinate " << j << ": " << expected[j] << " and " << median[j];
    }
  }

  // The invariants of MedianState: exact weights, and empty intervals around the median.
  void expect_truthful(TestTable& table, const Weights& weights, const std::vector<float>& median,
                       const MedianState& state) {
    MedianState truth;
    std::vector<float> same = median;
    reference_->refine_median(table.view(), weights, same, &truth);
    for (std::size_t j = 0; j < table.dim(); ++j) {
      if (state.at(j) == 0) continue;
      ASSERT_EQ(state.below(j), truth.below(j)) << "coordinate " << j;
      ASSERT_EQ(state.at(j), truth.at(j)) << "coordinate " << j;
      ASSERT_GE(state.lower(j), truth.lower(j)) << "coordinate " << j;
      ASSERT_LE(state.upper(j), truth.upper(j)) << "coordinate " << j;
    }
  }

  void follow_history(const Scenario& scenario, std::uint64_t seed) {
    const auto cpu = make_cpu_primitives(1 + seed % 2);
    Rng rng(seed);
    TestTable table = make_table(scenario.filling, scenario.rows, scenario.dim, seed);
    std::vector<std::uint64_t> counts(scenario.rows, scenario.count_min);
    for (auto& count : counts) count += rng.below(20);
    Weights weights;
    weights.assign_units(counts);
    std::vector<float> median(scenario.dim, 0.0f);
    MedianState state;
    cpu->refine_median(table.view(), weights, median, &state);
    expect_exact(table, weights, median);
    expect_truthful(table, weights, median, state);
    for (int step = 0; step < scenario.steps; ++step) {
      const std::size_t row = rng.below(scenario.rows);
      const std::vector<float> old_values = table[row];
      for (std::size_t j = 0; j < scenario.dim; ++j) {
        table[row][j] = scenario.is_settled
                            ? static_cast<float>(old_values[j] + 0.01 * rng.normal())
                            : draw(scenario.filling, row, j, rng);
      }
      const auto old_weight = static_cast<std::uint32_t>(counts[row]);
      // Mostly a count; a weight that a policy gives may be anything.
      counts[row] = rng.below(4) > 0 ? counts[row] + 1 : 1 + rng.below(2 * scenario.count_min + 40);
      weights.assign_units(counts);
      cpu->update_median(table.view(), weights, {row, old_values, old_weight}, median, state);
      expect_exact(table, weights, median);
      expect_truthful(table, weights, median, state);
      if (HasFatalFailure()) return;
    }
  }

  const std::unique_ptr<Primitives> reference_ = make_reference_primitives();
};

TEST_P(MedianUpdateTest, FollowsAnyHistoryExactly) {
  on_each_target([&] {
    for (std::uint64_t seed = 1; seed <= GetParam().seeds; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      follow_history(GetParam(), seed);
      if (HasFatalFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Histories, MedianUpdateTest,
    testing::Values(
        Scenario{1, 40, Filling::kNormal, false}, Scenario{2, 40, Filling::kNormal, true},
        Scenario{5, 33, Filling::kTied, false}, Scenario{9, 100, Filling::kNormal, true},
        Scenario{17, 150, Filling::kNormal, true}, Scenario{17, 64, Filling::kNormal, false},
        Scenario{17, 50, Filling::kTied, false}, Scenario{6, 31, Filling::kHuge, false},
        Scenario{8, 31, Filling::kTiny, false}, Scenario{64, 70, Filling::kNormal, true},
        Scenario{40, 33, Filling::kMixed, false}, Scenario{9, 60, Filling::kNormal, true, 1000000},
        Scenario{9, 60, Filling::kTied, false, 1000000}, Scenario{17, 701, Filling::kNormal, false},
        Scenario{33, 500, Filling::kTied, true}, Scenario{20, 350, Filling::kMixed, false, 1000000},
        Scenario{16, 3003, Filling::kNormal, false, 1, 20},
        Scenario{17, 9003, Filling::kNormal, false, 5, 6},
        Scenario{24, 1100, Filling::kNormal, false, 1000, 20},
        Scenario{30, 700, Filling::kTied, false, 3, 20}));

// Beyond the caches columns are looked at less readily.
INSTANTIATE_TEST_SUITE_P(FarHistories, MedianUpdateTest,
                         testing::Values(Scenario{9, 470003, Filling::kNormal, true, 40, 2, 1},
                                         Scenario{3, 1400003, Filling::kTied, true, 1000000, 2,
                                                  1}));

// Five rows at 1, 2, 4, 8 and 16, in a table beyond the caches, where looking at a column takes
// long.
TestTable powers_of_two() {
  TestTable table(5, 1 << 20);
  for (std::size_t row = 0; row < 5; ++row) {
    std::ranges::fill(table[row], std::ldexp(1.0f, static_cast<int>(row)));
  }
  return table;
}

// A row that passes the median by little is the new one, where all rows weigh the same.
struct Passing {
  std::size_t row;
  std::array<float, 4> to;  // it stays; passes; comes to the next row; passes that too
  std::array<float, 4> medians;
  float lower, upper;  // neighbours where it passes
};

TEST(MedianUpdate, KnowsTheMedianNextToARowThatPasses) {
  on_each_target([] {
    for (const Passing& passing :
         {Passing{3, {5.0f, 3.0f, 2.0f, 1.5f}, {4.0f, 3.0f, 2.0f, 2.0f}, 2.0f, 4.0f},
          Passing{1, {3.0f, 6.0f, 8.0f, 9.0f}, {4.0f, 6.0f, 8.0f, 8.0f}, 4.0f, 8.0f}}) {
      const auto cpu = make_cpu_primitives(1);
      TestTable table = powers_of_two();
      Weights weights;
      weights.assign_units({{3, 3, 3, 3, 3}});
      std::vector<float> median(table.dim());
      MedianState state;
      cpu->refine_median(table.view(), weights, median, &state);
      ASSERT_EQ(median[0], 4.0f);
      const std::vector<float> old_values = table[passing.row];
      for (std::size_t j = 0; j < table.dim(); ++j) {
        if (j % 64 < 4) table[passing.row][j] = passing.to[j % 4];
      }
      const double gain =
          cpu->update_median(table.view(), weights, {passing.row, old_values, 3}, median, state);
      for (std::size_t j = 0; j < table.dim(); ++j) {
        ASSERT_EQ(median[j], j % 64 < 4 ? passing.medians[j % 4] : 4.0f) << "coordinate " << j;
      }
      EXPECT_DOUBLE_EQ(gain, 0.05 - 2.0 / 64.0);  // the last two of four are looked at
      EXPECT_EQ(state.below(1), 6u);
      EXPECT_EQ(state.at(1), 3u);
      constexpr float kRounding = 1.01f;  // of neighbours, towards the median
      EXPECT_GE(state.lower(1), passing.lower);
      EXPECT_LE(state.lower(1), passing.lower * kRounding);
      EXPECT_LE(state.upper(1), passing.upper);
      EXPECT_GE(state.upper(1), passing.upper / kRounding);
    }
  });
}

// With its weight gone the median lies elsewhere, though the row comes to lie next to the old one.
TEST(MedianUpdate, LooksAgainWhereTheWeightOfARowFalls) {
  struct Fall {
    std::size_t row;
    std::vector<std::uint64_t> units;
    float to, median;
  };
  on_each_target([] {
    for (const Fall& fall :
         {Fall{3, {3, 3, 1, 5, 1}, 3.0f, 2.0f}, Fall{1, {1, 5, 1, 3, 3}, 6.0f, 8.0f}}) {
      const auto cpu = make_cpu_primitives(1);
      TestTable table = powers_of_two();
      std::vector<std::uint64_t> units = fall.units;
      Weights weights;
      weights.assign_units(units);
      std::vector<float> median(table.dim());
      MedianState state;
      cpu->refine_median(table.view(), weights, median, &state);
      ASSERT_EQ(median[0], 4.0f);
      const std::vector<float> old_values = table[fall.row];
      std::ranges::fill(table[fall.row], fall.to);
      units[fall.row] = 1;
      weights.assign_units(units);
      cpu->update_median(table.view(), weights, {fall.row, old_values, 5}, median, state);
      EXPECT_EQ(median, std::vector<float>(table.dim(), fall.median));
    }
  });
}

// The median of two rows of equal weight lies between them, and nothing is known then, wherever the
// row that changed next goes.
TEST(MedianUpdate, LooksAgainAfterATie) {
  constexpr std::size_t kDim = 40;
  for (const std::uint64_t weight : {5, 40000}) {
    on_each_target([&] {
      for (const float to : {0.0f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 4.0f}) {
        for (const std::size_t row : {0, 1}) {
          SCOPED_TRACE(testing::Message() << "row " << row << " to " << to);
          const auto cpu = make_cpu_primitives(1);
          TestTable table(2, kDim);
          std::ranges::fill(table[0], 1.0f);
          std::ranges::fill(table[1], 3.0f);
          std::vector<std::uint64_t> units{weight, weight};
          Weights weights;
          weights.assign_units(units);
          std::vector<float> median(kDim);
          MedianState state, truth;
          cpu->refine_median(table.view(), weights, median, &state);
          ASSERT_EQ(median[7], 2.0f);
          const std::vector<float> old_values = table[row];
          std::ranges::fill(table[row], to);
          units[row] += 1;
          weights.assign_units(units);
          const RowChange change{row, old_values, static_cast<std::uint32_t>(weight)};
          cpu->update_median(table.view(), weights, change, median, state);
          EXPECT_EQ(median, std::vector<float>(kDim, to));  // the heavier of two
          make_reference_primitives()->refine_median(table.view(), weights, median, &truth);
          EXPECT_EQ(state.weights, truth.weights);
          EXPECT_EQ(state.at_weights, truth.at_weights);
        }
      }
    });
  }
}

// How many floats lie between these two, and one more.
std::int64_t bits_between(float from, float to) {
  const auto place = [](float value) -> std::int64_t {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
  };
  return place(to) - place(from);
}

TEST(MedianState, RoundsIntervalsTowardsTheMedian) {
  MedianState state;
  for (const std::uint64_t total : {100u, 100000u}) {
    state.reset(1, total);
    for (const float lower : {-INFINITY, -3.4e38f, -1.0f, -1e-45f, 0.0f, 1.000001f, 3e38f}) {
      for (const float upper : {1.1f, 3.3e38f, INFINITY}) {
        state.set(0, 3, 4, lower, upper);
        EXPECT_EQ(state.below(0), 3u);
        EXPECT_EQ(state.at(0), 4u);
        EXPECT_GE(state.lower(0), lower);
        EXPECT_LE(state.upper(0), upper);
        EXPECT_LE(bits_between(lower, state.lower(0)), 0xFFFF);
        EXPECT_LE(bits_between(state.upper(0), upper), 0xFFFF);
      }
    }
  }
}

TEST(RefineMedian, IsExactFromAnyStartingPoint) {
  const auto cpu = make_cpu_primitives(2);
  const auto reference = make_reference_primitives();
  std::uint64_t seed = 1;
  for (const std::size_t rows : {1, 2, 5, 17, 40, 64, 65}) {
    for (const Filling filling : kFillings) {
      for (const Weighting weighting : kWeightings) {
        SCOPED_TRACE(testing::Message() << "rows " << rows << ", seed " << seed);
        TestTable table = make_table(filling, rows, 77, seed);
        const Weights weights = *Weights::make(make_weights(weighting, rows, seed));
        std::vector<float> expected(77);
        reference->weighted_median(table.view(), weights, expected);
        for (const float start : {0.0f, -0.0f, -3.4e38f, 3.4e38f, 1e-45f, 0.3f}) {
          std::vector<float> median(77, start);
          cpu->refine_median(table.view(), weights, median, nullptr);
          ASSERT_EQ(expected, median);
        }
        ++seed;
      }
    }
  }
}

// Several blocks, vectors of which some are settled and some are not, and a last one that is short.
TEST(RefineMedian, IsExactWhereSomeColumnsMoved) {
  const auto cpu = make_cpu_primitives(2);
  const auto reference = make_reference_primitives();
  constexpr std::size_t kDim = 9003;
  for (const Filling filling : {Filling::kNormal, Filling::kTied, Filling::kHuge}) {
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      TestTable table = make_table(filling, 17, kDim, seed);
      const Weights weights = *Weights::make(make_weights(Weighting::kSmallCounts, 17, seed));
      std::vector<float> median(kDim), expected(kDim);
      reference->weighted_median(table.view(), weights, median);
      Rng rng(seed);
      for (std::size_t j = 0; j < kDim; j += 1 + rng.below(40)) {
        for (std::size_t row = 0; row < 9; ++row) table[row][j] = draw(filling, row, j, rng);
      }
      reference->weighted_median(table.view(), weights, expected);
      cpu->refine_median(table.view(), weights, median, nullptr);
      ASSERT_EQ(expected, median);
    }
  }
}

}  // namespace
}  // namespace ballast::kernels::host
