// The functions that the CUDA kernels run on each column, here on the host, against the reference.

#include "ballast/kernels/cuda/column.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table_for_test.h"
#include "ballast/kernels/trim_cuts.h"

namespace ballast::kernels::cuda {
namespace {

constexpr std::size_t kDim = 24;

// Calls check(column, weight, weights, j, rows) for each column of many kinds of tables.
template <typename Check>
void for_each_column(std::size_t row_count, const Check& check) {
  std::uint64_t seed = 1;
  for (const Filling filling : kFillings) {
    for (const Weighting weighting : kWeightings) {
      SCOPED_TRACE(testing::Message()
                   << row_count << " rows, filling " << static_cast<int>(filling) << ", weighting "
                   << static_cast<int>(weighting) << ", seed " << seed);
      TestTable rows = make_table(filling, row_count, kDim, seed);
      const Weights weights = *Weights::make(make_weights(weighting, row_count, seed++));
      for (std::size_t j = 0; j < kDim; ++j) {
        check([&rows, j](unsigned i) { return rows[i][j]; },
              [&weights](unsigned i) { return weights.units()[i]; }, weights, j, rows);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

float reference_median(TestTable& rows, const Weights& weights, std::size_t j) {
  std::vector<float> column(rows.row_count());
  std::vector<const float*> pointers;
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = rows[i][j];
  for (const float& value : column) pointers.push_back(&value);
  float median = 0.0f;
  host::make_reference_primitives()->weighted_median({pointers, 1}, weights, {&median, 1});
  return median;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// No row lies strictly inside the gap but those at the value.
template <typename Column>
void expect_gap(const Column& column, unsigned count, float value, const Gap& gap) {
  ASSERT_LE(gap.lower, value);
  ASSERT_GE(gap.upper, value);
  for (unsigned i = 0; i < count; ++i) {
    const float x = column(i);
    ASSERT_TRUE(x == value || x <= gap.lower || x >= gap.upper)
        << x << " lies between " << gap.lower << " and " << gap.upper;
  }
}

constexpr std::size_t kRowCounts[] = {1, 2, 3, 8, 17, 32, 33, 70};

TEST(Column, OrdersKeysAsValues) {
  const float values[] = {-3.4e38f, -1.0f, -1e-45f, 0.0f, 1e-45f, 1e-30f, 2.0f, 3.4e38f};
  for (std::size_t i = 1; i < std::size(values); ++i) {
    EXPECT_LT(ordered_key(values[i - 1]), ordered_key(values[i]));
    EXPECT_EQ(value_of_key(ordered_key(values[i])), values[i]);
  }
  EXPECT_EQ(ordered_key(-0.0f), ordered_key(0.0f));
}

TEST(Column, BisectsToTheMedian) {
  for (const std::size_t count : kRowCounts) {
    for_each_column(count, [&](auto column, auto weight, const Weights& weights, std::size_t j,
                               TestTable& rows) {
      const std::uint64_t total = weights.total();
      const auto m = static_cast<unsigned>(count);
      const auto s = quantile<std::uint64_t>(column, weight, m, total, total - total / 2);
      ASSERT_EQ(bits(median_at(column, weight, m, total, s)),
                bits(reference_median(rows, weights, j)));
      const auto counted = standing_of<std::uint64_t>(column, weight, m, s.value);
      ASSERT_EQ(s.below, counted.below);
      ASSERT_EQ(s.at, counted.at);
    });
  }
}

TEST(Column, SearchesTheMedianFromAnyValue) {
  Rng rng(7);
  for (const std::size_t count : kRowCounts) {
    for_each_column(count, [&](auto column, auto weight, const Weights& weights, std::size_t j,
                               TestTable& rows) {
      const auto m = static_cast<unsigned>(count);
      const float starts[] = {rows[rng.below(count)][j], 0.0f, -3e38f,
                              static_cast<float>(rng.normal())};
      for (const float start : starts) {
        const auto from = standing_of<std::uint64_t>(column, weight, m, start);
        const auto s = search<std::uint64_t>(column, weight, m, weights.total(), from);
        ASSERT_EQ(bits(median_at(column, weight, m, weights.total(), s)),
                  bits(reference_median(rows, weights, j)));
      }
    });
  }
}

// The rank range that the host computes is checked with the kernels; the widest is always right.
template <unsigned kRows>
void expect_sorted_median() {
  for_each_column(
      kRows, [&](auto column, auto weight, const Weights& weights, std::size_t j, TestTable& rows) {
        if (!weights.is_narrow()) return;
        const auto narrow = [&](unsigned i) { return static_cast<std::uint32_t>(weight(i)); };
        const auto total = static_cast<std::uint32_t>(weights.total());
        float tags[kRows];
        for (unsigned i = 0; i < kRows; ++i) tags[i] = make_tag<kRows>(column(i), i);
        sort_tags<kRows>(tags);
        for (unsigned i = 1; i < kRows; ++i) ASSERT_LT(tags[i - 1], tags[i]);
        const auto [s, gap] = reach<kRows>(tags, column, narrow, total - total / 2, {0, kRows - 1});
        expect_gap(column, kRows, s.value, gap);
        ASSERT_EQ(bits(median_at(column, narrow, kRows, total, s)),
                  bits(reference_median(rows, weights, j)));
        const auto counted = standing_of<std::uint32_t>(column, narrow, kRows, s.value);
        ASSERT_EQ(s.below, counted.below);
        ASSERT_EQ(s.at, counted.at);
      });
}

TEST(Column, SortsFewRowsInRegisters) {
  expect_sorted_median<1>();
  expect_sorted_median<2>();
  expect_sorted_median<3>();
  expect_sorted_median<8>();
  expect_sorted_median<9>();
  expect_sorted_median<17>();
  expect_sorted_median<32>();
  expect_sorted_median<64>();
}

// A sort of 64 with rows that there are not.
TEST(Column, SortsWithRowsMissing) {
  constexpr unsigned kPlaces = 64;
  for (const unsigned count : {1u, 33u, 48u, 63u}) {
    for_each_column(count, [&](auto column, auto weight, const Weights& weights, std::size_t j,
                               TestTable& rows) {
      if (!weights.is_narrow()) return;
      const auto padded = [&](unsigned i) { return i < count ? column(i) : kNoRow; };
      const auto narrow = [&](unsigned i) {
        return i < count ? static_cast<std::uint32_t>(weight(i)) : 0u;
      };
      const auto total = static_cast<std::uint32_t>(weights.total());
      float tags[kPlaces];
      for (unsigned i = 0; i < kPlaces; ++i) tags[i] = make_tag<kPlaces>(padded(i), i);
      sort_tags<kPlaces>(tags);
      const auto [s, gap] = reach<kPlaces>(tags, padded, narrow, total - total / 2, {0, count - 1});
      expect_gap(column, count, s.value, gap);
      ASSERT_EQ(bits(median_at(padded, narrow, kPlaces, total, s)),
                bits(reference_median(rows, weights, j)));
      const auto last = reach<kPlaces>(tags, padded, narrow, total, {0, count - 1}).standing;
      ASSERT_EQ(last.below + last.at, total);
    });
  }
}

// Values that agree in all but their last bits, which tags leave open, and zeros of both signs.
TEST(Column, DecidesWhatTagsLeaveOpen) {
  Rng rng(3);
  for (int trial = 0; trial < 2000; ++trial) {
    TestTable rows(17, 1);
    std::vector<double> counts;
    const std::uint32_t base = rng.below(2) == 0 ? 0x3F800000u : 0u;
    for (std::size_t i = 0; i < 17; ++i) {
      const std::uint32_t sign = rng.below(2) == 0 ? 0x80000000u : 0u;
      rows[i][0] = std::bit_cast<float>(sign | (base + static_cast<std::uint32_t>(rng.below(40))));
      counts.push_back(1.0 + static_cast<double>(rng.below(9)));
    }
    const Weights weights = *Weights::make(counts);
    const auto column = [&](unsigned i) { return rows[i][0]; };
    const auto weight = [&](unsigned i) { return static_cast<std::uint32_t>(weights.units()[i]); };
    const auto total = static_cast<std::uint32_t>(weights.total());
    float tags[17];
    for (unsigned i = 0; i < 17; ++i) tags[i] = make_tag<17>(column(i), i);
    sort_tags<17>(tags);
    const auto [s, gap] = reach<17>(tags, column, weight, total - total / 2, {0, 16});
    expect_gap(column, 17, s.value, gap);
    ASSERT_EQ(bits(median_at(column, weight, 17, total, s)),
              bits(reference_median(rows, weights, 0)))
        << "trial " << trial;
  }
}

TEST(Column, FindsTheGapAroundAValue) {
  const float values[] = {3.0f, -1.0f, 2.0f, -0.0f, 2.0f, 7.0f};
  const auto column = [&](unsigned i) { return values[i]; };
  const Gap inner = gap_around(column, 6, 2.0f), first = gap_around(column, 6, -1.0f);
  EXPECT_EQ(inner.lower, 0.0f);
  EXPECT_EQ(inner.upper, 3.0f);
  EXPECT_EQ(first.lower, -INFINITY);
  EXPECT_EQ(first.upper, 0.0f);
  EXPECT_EQ(gap_around(column, 6, 7.0f).upper, INFINITY);
}

// A column whose rows are replaced one by one, with what is remembered of it.
class FollowedColumn {
 public:
  FollowedColumn(std::size_t count, std::uint64_t seed)
      : rng_(seed),
        rows_(make_table(Filling::kTied, count, 1, seed)),
        counts_(count, 1),
        kept_{0.0f, kUnknown, 0, 0.0f, 0.0f} {}

  // Replaces a random row by next(old value, row, rng); whether that settled the median.
  template <typename Next>
  bool replace(const Next& next) {
    const auto count = static_cast<unsigned>(rows_.row_count());
    const auto row = static_cast<unsigned>(rng_.below(count));
    const float old_value = rows_[row][0];
    const auto old_weight = static_cast<std::uint32_t>(counts_[row]);
    counts_[row] += 1 + rng_.below(2);
    Weights weights;
    weights.assign_units(counts_);
    if (weights.units()[row] != counts_[row]) {  // all even: divided by two
      counts_[row] += 1;
      weights.assign_units(counts_);
    }
    rows_[row][0] = next(old_value, row, rng_);
    const auto total = static_cast<std::uint32_t>(weights.total());
    const auto new_weight = static_cast<std::uint32_t>(counts_[row]);
    const bool is_settled =
        follow(kept_, old_value, rows_[row][0], {old_weight, new_weight}, total);
    const float median = is_settled ? kept_.value : search_again(total);
    EXPECT_EQ(bits(median), bits(reference_median(rows_, weights, 0)));
    if (kept_.below != kUnknown) {
      expect_gap([&](unsigned i) { return rows_[i][0]; }, count, kept_.value,
                 {kept_.lower, kept_.upper});
    }
    return is_settled;
  }

 private:
  float search_again(std::uint32_t total) {
    const auto column = [&](unsigned i) { return rows_[i][0]; };
    const auto weight = [&](unsigned i) { return static_cast<std::uint32_t>(counts_[i]); };
    const auto m = static_cast<unsigned>(rows_.row_count());
    Standing<std::uint32_t> s{kept_.value, kept_.below, kept_.at};
    if (s.below == kUnknown) s = standing_of<std::uint32_t>(column, weight, m, s.value);
    s = search<std::uint32_t>(column, weight, m, total, s);
    const float median = median_at(column, weight, m, total, s);
    const Gap gap = gap_around(column, m, s.value);
    kept_ = to_remember(s, total, gap.lower, gap.upper);
    kept_.value = median;
    return median;
  }

  Rng rng_;
  TestTable rows_;
  std::vector<std::uint64_t> counts_;
  Remembered kept_;
};

TEST(Column, FollowsTheMedianWhileRowsAreReplaced) {
  for (const std::size_t count : {1u, 2u, 3u, 16u, 33u}) {
    SCOPED_TRACE(testing::Message() << count << " rows");
    FollowedColumn column(count, count);
    std::size_t settled = 0;
    for (int step = 0; step < 3000 && !HasFailure(); ++step) {
      const Filling filling = step % 500 < 250 ? Filling::kTied : Filling::kNormal;
      settled += column.replace(
          [&](float, std::size_t row, Rng& rng) { return draw(filling, row, 0, rng); });
    }
    EXPECT_GT(settled, 100u);
  }
}

// Late in a run rows hardly move: then the row that is the median mostly stays it.
TEST(Column, KeepsAMedianThatMovesWithinItsGap) {
  FollowedColumn column(32, 4);
  std::size_t settled = 0;
  for (int step = 0; step < 4000 && !HasFailure(); ++step) {
    const bool begins = step < 400;
    const bool is_settled = column.replace([&](float old_value, std::size_t, Rng& rng) {
      const auto noise = static_cast<float>(rng.normal());
      return begins ? noise : old_value + 0.01f * noise;
    });
    settled += !begins && is_settled;
  }
  EXPECT_GT(settled, 3500u);  // of 3600; of the others one row in 32 was the median
}

TEST(Column, TrimsMeans) {
  for (const std::size_t count : kRowCounts) {
    for_each_column(count, [&](auto column, auto weight, const Weights& weights, std::size_t j,
                               TestTable& rows) {
      const auto m = static_cast<unsigned>(count);
      for (const double trim : {0.0, 0.1, 1.0 / 3.0, 0.499}) {
        const TrimCuts trimmed = trim_cuts(trim, weights.total());
        const Cuts cuts{trimmed.low, trimmed.high};
        const CutThresholds at = cut_thresholds(cuts, weights.total());
        const auto low = quantile<std::uint64_t>(column, weight, m, weights.total(), at.low);
        const auto high = quantile<std::uint64_t>(column, weight, m, weights.total(), at.high);
        const double inside = sum_between(column, weight, 0, m, 1, low, high);
        std::vector<const float*> pointers;
        double largest = 0.0;
        for (unsigned i = 0; i < m; ++i) {
          pointers.push_back(&rows[i][j]);
          largest = std::max(largest, std::abs(static_cast<double>(rows[i][j])));
        }
        float expected = 0.0f;
        host::make_reference_primitives()->weighted_trimmed_mean({pointers, 1}, weights, trim,
                                                                 {&expected, 1});
        ASSERT_NEAR(trimmed_mean(inside, cuts, low, high), expected, 1.5e-45 + 1.2e-7 * largest)
            << "trim " << trim;
      }
    });
  }
}

}  // namespace
}  // namespace ballast::kernels::cuda
