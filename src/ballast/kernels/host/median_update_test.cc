// The incremental weighted median: after any history of replaced rows and growing counts it equals
// the median computed from nothing, bit for bit, and what it remembers is true.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels::host {
namespace {

struct Scenario {
  std::size_t rows, dim;
  Filling filling;
  bool is_settled;  // small moves; else a new draw every time
  std::uint64_t count_min = 1;
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
      ASSERT_GE(state.lower_key(j), truth.lower_key(j)) << "coordinate " << j;
      ASSERT_LE(state.upper_key(j), truth.upper_key(j)) << "coordinate " << j;
    }
  }

  const std::unique_ptr<Primitives> reference_ = make_reference_primitives();
};

TEST_P(MedianUpdateTest, FollowsAnyHistoryExactly) {
  const Scenario scenario = GetParam();
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
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
    for (int step = 0; step < 60; ++step) {
      const std::size_t row = rng.below(scenario.rows);
      const std::vector<float> old_values = table[row];
      for (std::size_t j = 0; j < scenario.dim; ++j) {
        table[row][j] = scenario.is_settled
                            ? static_cast<float>(old_values[j] + 0.01 * rng.normal())
                            : draw(scenario.filling, row, j, rng);
      }
      const auto old_weight = static_cast<std::uint32_t>(counts[row]++);
      weights.assign_units(counts);
      cpu->update_median(table.view(), weights, {row, old_values, old_weight}, median, state);
      expect_exact(table, weights, median);
      expect_truthful(table, weights, median, state);
      if (HasFatalFailure()) return;
    }
  }
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
        Scenario{33, 500, Filling::kTied, true},
        Scenario{20, 350, Filling::kMixed, false, 1000000}));

TEST(MedianState, RoundsIntervalsTowardsTheMedian) {
  MedianState state;
  for (const std::uint64_t total : {100u, 100000u}) {
    state.reset(1, total);
    for (const float lower : {-INFINITY, -3.4e38f, -1.0f, -1e-45f, 0.0f, 1.000001f, 3e38f}) {
      for (const float upper : {1.1f, 3.3e38f, INFINITY}) {
        state.set(0, 3, 4, lower, upper);
        EXPECT_EQ(state.below(0), 3u);
        EXPECT_EQ(state.at(0), 4u);
        EXPECT_GE(state.lower_key(0), ordered_key(lower));
        EXPECT_LE(state.upper_key(0), ordered_key(upper));
        EXPECT_LE(state.lower_key(0) - std::int64_t{ordered_key(lower)}, 0xFFFF);
        EXPECT_LE(ordered_key(upper) - std::int64_t{state.upper_key(0)}, 0xFFFF);
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
