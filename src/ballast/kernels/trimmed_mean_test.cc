// The trimmed mean on every instruction set the machine has, for every way in which its cuts are
// found: against the plain twin, and the same bits on AVX2 and AVX-512.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ballast/kernels/cpu/target_for_test.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table_for_test.h"
#include "ballast/kernels/trim_cuts.h"

namespace ballast::kernels {
namespace {

constexpr std::size_t kDim = 150;
constexpr std::size_t kHeights[] = {1, 2, 3, 5, 8, 9, 16, 17, 24, 25, 31, 32, 33, 48, 64, 65, 90};
constexpr double kTrims[] = {0.0, 0.1, 0.2, 1.0 / 3.0, 0.45, 0.4999, 0.5 - 1e-10};

std::vector<float> trimmed_mean(const host::Primitives& primitives, TestTable& table,
                                const Weights& weights, double trim) {
  std::vector<float> out(table.dim());
  primitives.weighted_trimmed_mean(table.view(), weights, trim, out);
  return out;
}

// Both add in double precision, in different orders: after rounding to a float, results differ by a
// step at most, of the result or, where large values cancel, of what is lost of these in doubles.
void expect_near(const std::vector<float>& expected, const std::vector<float>& actual,
                 const TestTable& table) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    double largest = 0.0;
    for (std::size_t i = 0; i < table.row_count(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(table[i][j])));
    }
    const double tolerance = 1.5e-45 + 1.2e-7 * std::abs(expected[j]) + 1e-13 * largest;
    ASSERT_NEAR(expected[j], actual[j], tolerance) << "coordinate " << j;
  }
}

// Calls fill(row, coordinate, rng) for each value of tables of many heights, with every kind of
// weights.
template <typename Fill>
void expect_right(const Fill& fill) {
  const auto plain = host::make_reference_primitives(), cpu = host::make_cpu_primitives(1);
  for (const std::size_t rows : kHeights) {
    Rng rng(rows);
    TestTable table(rows, kDim);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < kDim; ++j) table[i][j] = fill(i, j, rng);
    }
    for (const Weighting weighting : kWeightings) {
      const Weights weights = *Weights::make(make_weights(weighting, rows, rows));
      for (const double trim : kTrims) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows, weighting " << static_cast<int>(weighting) << ", trim "
                     << trim << ", seed " << rows);
        const auto expected = trimmed_mean(*plain, table, weights, trim);
        std::vector<std::vector<float>> found;
        on_each_target([&] {
          found.push_back(trimmed_mean(*cpu, table, weights, trim));
          expect_near(expected, found.back(), table);
        });
        if (testing::Test::HasFatalFailure()) return;
        if (found.size() < 3) continue;
        for (std::size_t j = 0; j < kDim; ++j) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(found[1][j]),
                    std::bit_cast<std::uint32_t>(found[2][j]))
              << "coordinate " << j << ": " << found[1][j] << " and " << found[2][j];
        }
      }
    }
  }
}

TEST(TrimmedMean, IsRightForEveryFilling) {
  for (const Filling filling : kFillings) {
    SCOPED_TRACE(testing::Message() << "filling " << static_cast<int>(filling));
    expect_right([&](std::size_t row, std::size_t coordinate, Rng& rng) {
      return draw(filling, row, coordinate, rng);
    });
  }
}

TEST(TrimmedMean, IsRightAmongNeighbouringFloats) {
  expect_right([](std::size_t, std::size_t, Rng& rng) {
    const std::uint32_t bits = rng.below(2) == 0 ? 0x3F7FFFF0u : 0xBF7FFFF0u;
    return std::bit_cast<float>(bits + static_cast<std::uint32_t>(rng.below(48)));
  });
}

TEST(TrimmedMean, IsRightAmongZerosAndTheSmallestFloats) {
  expect_right([](std::size_t, std::size_t, Rng& rng) {
    const std::uint32_t sign = rng.below(2) == 0 ? 0u : 0x80000000u;
    return std::bit_cast<float>(sign + static_cast<std::uint32_t>(rng.below(3) * rng.below(20)));
  });
}

// Ten rows of weight 1: cuts on a boundary between rows, within a row, both within one row.
TEST(TrimmedMean, CutsWhereItIsTold) {
  on_each_target([] {
    TestTable table(10, 70);
    for (std::size_t i = 0; i < 10; ++i) table[i].assign(70, static_cast<float>(i * i));
    const auto cpu = host::make_cpu_primitives(1);
    const Weights weights = Weights::equal(10);
    const auto mean = [&](double trim) { return trimmed_mean(*cpu, table, weights, trim).front(); };
    EXPECT_FLOAT_EQ(mean(0.2), (4 + 9 + 16 + 25 + 36 + 49) / 6.0f);
    EXPECT_FLOAT_EQ(mean(0.25), (2 + 9 + 16 + 25 + 36 + 24.5f) / 5.0f);
    EXPECT_FLOAT_EQ(mean(0.45), (16 + 25) / 2.0f);
    TestTable one(1, 70);
    one[0].assign(70, -3.25f);
    EXPECT_EQ(trimmed_mean(*cpu, one, Weights::equal(1), 0.4).front(), -3.25f);
  });
}

TEST(TrimCuts, LeaveSomethingHoweverLittle) {
  const TrimCuts cuts = trim_cuts(0.5 - 1e-13, 2);
  EXPECT_LT(cuts.low, cuts.high);
}

}  // namespace
}  // namespace ballast::kernels
