// The selection that the CUDA kernels make among many rows, here on the host, against bisection and
// the reference; and what the lanes of a warp find in their shares of a column.

#include "ballast/kernels/cuda/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels::cuda {
namespace {

// A crew of one, which counts what it is asked for.
template <typename Sum>
class HostCrew {
 public:
  HostCrew(std::vector<float> values, std::vector<Sum> units)
      : values_(std::move(values)), units_(std::move(units)) {}

  bool leads() const { return true; }
  bool any(bool answer) const { return answer; }
  void publish(const Bracket<Sum>& bracket, float pivot) {
    bracket_ = bracket;
    pivot_ = pivot;
  }
  Sum weight_through() {
    ++passes_;
    Sum sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) sum += values_[i] <= pivot_ ? units_[i] : 0;
    return sum;
  }
  unsigned gather() {
    ++passes_;
    taken_.clear();
    unsigned count = 0;
    for (unsigned i = 0; i < values_.size(); ++i) {
      if (!is_inside(values_[i])) continue;
      if (++count <= kCandidatesMax) taken_.push_back(i);
    }
    return count;
  }
  Extremes extremes() {
    ++passes_;
    Extremes ends{INFINITY, -INFINITY};
    for (const float x : values_) {
      if (!is_inside(x)) continue;
      ends = {std::min(ends.smallest, x), std::max(ends.largest, x)};
    }
    return ends;
  }
  Standing<Sum> pick(Sum threshold) const {
    const auto value = [&](unsigned i) { return values_[taken_[i]]; };
    const auto weight = [&](unsigned i) { return units_[taken_[i]]; };
    Standing<Sum> picked{};
    unsigned found = 0;
    for (unsigned k = 0; k < taken_.size(); ++k) {
      const auto seen = compare<Sum>(value, weight, static_cast<unsigned>(taken_.size()), k);
      const Sum below = bracket_.below + seen.below;
      if (!seen.is_first || below >= threshold || below + seen.at < threshold) continue;
      picked = {value(k) + 0.0f, below, seen.at};
      ++found;
    }
    EXPECT_TRUE(found == 1 || is_one_value(bracket_)) << found << " threads would write the answer";
    return picked;
  }

  std::size_t passes() const { return passes_; }
  Extremes ends() const {
    const auto [smallest, largest] = std::ranges::minmax(values_);
    return {smallest, largest};
  }
  std::size_t size() const { return values_.size(); }
  float operator()(unsigned i) const { return values_[i]; }
  Sum weight(unsigned i) const { return units_[i]; }

 private:
  bool is_inside(float x) const { return x > bracket_.low && x <= bracket_.high; }

  Bracket<Sum> bracket_{};
  float pivot_ = 0.0f;
  std::vector<float> values_;
  std::vector<Sum> units_;
  std::vector<unsigned> taken_;
  std::size_t passes_ = 0;
};

// Whatever the values are: every second pass halves what is left of the 2^32 floats.
constexpr std::size_t kPassesMax = 80;

template <typename Sum>
void expect_selected(HostCrew<Sum>& crew, Sum total, Sum threshold) {
  const auto m = static_cast<unsigned>(crew.size());
  const auto all = bracket_all<Sum>(crew.ends().smallest, crew.ends().largest, total);
  const std::size_t before = crew.passes();
  const Standing<Sum> s = select(crew, m, all, total, threshold);
  EXPECT_LE(crew.passes() - before, kPassesMax);
  const Standing<Sum> expected = quantile<Sum>(
      crew, [&](unsigned i) { return crew.weight(i); }, m, total, threshold);
  ASSERT_EQ(std::bit_cast<std::uint32_t>(s.value), std::bit_cast<std::uint32_t>(expected.value));
  ASSERT_EQ(s.below, expected.below);
  ASSERT_EQ(s.at, expected.at);
}

template <typename Sum>
void expect_all_selected(const std::vector<float>& values, const Weights& weights) {
  HostCrew<Sum> crew(values, {weights.units().begin(), weights.units().end()});
  const auto total = static_cast<Sum>(weights.total());
  for (const double part : {0.0, 0.2, 0.5, 0.93, 1.0}) {
    const auto at = static_cast<Sum>(part * static_cast<double>(total));
    expect_selected<Sum>(crew, total, std::clamp<Sum>(at, 1, total));
    if (testing::Test::HasFatalFailure()) return;
  }
  expect_selected<Sum>(crew, total, total - total / 2);
}

TEST(Selection, FindsWhatBisectionFinds) {
  constexpr std::size_t kDim = 6;
  std::uint64_t seed = 1;
  for (const std::size_t count : {1u, 2u, 31u, 65u, 200u, 700u}) {
    for (const Filling filling : kFillings) {
      for (const Weighting weighting : kWeightings) {
        SCOPED_TRACE(testing::Message()
                     << count << " rows, filling " << static_cast<int>(filling) << ", weighting "
                     << static_cast<int>(weighting) << ", seed " << seed);
        const TestTable rows = make_table(filling, count, kDim, seed);
        const Weights weights = *Weights::make(make_weights(weighting, count, seed++));
        for (std::size_t j = 0; j < kDim; ++j) {
          std::vector<float> column(count);
          for (std::size_t i = 0; i < count; ++i) column[i] = rows[i][j];
          if (weights.is_narrow()) expect_all_selected<std::uint32_t>(column, weights);
          expect_all_selected<std::uint64_t>(column, weights);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Neighbouring floats around 0, where both zeros and denormals are, and around the largest ones:
// there is always a pivot between two values, and never one that leaves all as it was.
TEST(Selection, TellsNeighbouringFloatsApart) {
  Rng rng(4);
  for (const float base : {0.0f, 1.0f, -1.0f, 3.4028e38f, -3.4028235e38f}) {
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<float> values;
      std::vector<double> counts;
      for (std::size_t i = 0; i < 100; ++i) {
        const auto offset = static_cast<std::uint32_t>(rng.below(trial % 2 == 0 ? 3 : 60));
        const std::uint32_t key = ordered_key(base) + (base < -3e38f ? offset : offset - 20);
        values.push_back(rng.below(30) == 0 ? -0.0f : value_of_key(key));
        counts.push_back(1.0 + static_cast<double>(rng.below(3)));
      }
      SCOPED_TRACE(testing::Message() << "around " << base << ", trial " << trial);
      std::erase_if(values, [](float x) { return !std::isfinite(x); });
      counts.resize(values.size());
      if (values.empty()) continue;
      expect_all_selected<std::uint32_t>(values, *Weights::make(counts));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Selection, TakesFewPassesOverOrdinaryColumns) {
  Rng rng(9);
  for (const std::size_t count : {256u, 1024u}) {
    std::size_t passes = 0;
    constexpr std::size_t kColumns = 200;
    for (std::size_t j = 0; j < kColumns; ++j) {
      std::vector<float> values(count);
      std::vector<std::uint32_t> units(count);
      std::uint32_t total = 0;
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(rng.normal());
        units[i] = static_cast<std::uint32_t>(100 * (i + 1) + 1);
        total += units[i];
      }
      HostCrew<std::uint32_t> crew(values, units);
      expect_selected<std::uint32_t>(crew, total, total - total / 2);
      passes += crew.passes();
    }
    EXPECT_LT(passes, 7 * kColumns) << count << " rows";  // one of them takes the candidates down
  }
}

// A warp's lanes step through their shares of a column; together they find what one thread finds.
TEST(Column, SharesOfAColumnAddUp) {
  for (const std::size_t count : {33u, 70u, 300u}) {
    for (const Filling filling : kFillings) {
      TestTable rows = make_table(filling, count, 1, count);
      Rng rng(count);
      const auto column = [&](unsigned i) { return rows[i][0]; };
      const auto weight = [](unsigned i) { return std::uint32_t{i % 7 + 1}; };
      const auto m = static_cast<unsigned>(count);
      using S = Standing<std::uint32_t>;
      for (int trial = 0; trial < 20; ++trial) {
        const float start = trial == 0 ? -3e38f : rows[rng.below(count)][0];
        const S from = standing_of<std::uint32_t>(column, weight, m, start);
        S standing{start, 0, 0}, above{INFINITY, from.below + from.at, 0};
        S below{-INFINITY, from.below, 0};
        for (unsigned lane = 0; lane < 32; ++lane) {
          const auto share = [&](unsigned i) { return column(i * 32 + lane); };
          const auto units = [&](unsigned i) { return weight(i * 32 + lane); };
          const unsigned mine = (m + 31 - lane) / 32;
          standing = both(standing, standing_of<std::uint32_t>(share, units, mine, start));
          above = nearer_above(above, next_above(share, units, mine, from));
          below = nearer_below(below, next_below(share, units, mine, from));
        }
        const S next = next_above(column, weight, m, from),
                last = next_below(column, weight, m, from);
        ASSERT_EQ(standing.below, from.below);
        ASSERT_EQ(standing.at, from.at);
        ASSERT_EQ(above.value, next.value);
        ASSERT_EQ(above.below, next.below);
        ASSERT_EQ(above.at, next.at);
        ASSERT_EQ(below.value, last.value);
        ASSERT_EQ(below.below, last.below);
        ASSERT_EQ(below.at, last.at);
      }
    }
  }
}

}  // namespace
}  // namespace ballast::kernels::cuda
