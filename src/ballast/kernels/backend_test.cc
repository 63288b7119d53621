// Every primitive of the fast backend against its plain twin, over awkward shapes, tied and hostile
// values, every kind of weights, and several numbers of threads.

#include "ballast/kernels/backend.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels {
namespace {

struct Shape {
  std::size_t rows, dim;
};
constexpr Shape kShapes[] = {{1, 1},  {1, 33},  {2, 1},   {2, 7},    {3, 16},   {4, 17},   {5, 31},
                             {8, 64}, {9, 129}, {16, 40}, {17, 75},  {31, 48},  {32, 20},  {33, 65},
                             {40, 9}, {64, 50}, {70, 31}, {3, 9000}, {6, 4096}, {17, 5000}};

// Calls check(table, weights, name) for every combination of shape, filling and weighting.
template <typename Check>
void for_each_case(const Check& check) {
  std::uint64_t seed = 1;
  for (const Shape shape : kShapes) {
    for (const Filling filling : kFillings) {
      for (const Weighting weighting : kWeightings) {
        SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.dim << ", filling "
                                        << static_cast<int>(filling) << ", weighting "
                                        << static_cast<int>(weighting) << ", seed " << seed);
        TestTable table = make_table(filling, shape.rows, shape.dim, seed);
        const Weights weights = *Weights::make(make_weights(weighting, shape.rows, seed));
        check(table, weights);
        if (testing::Test::HasFatalFailure()) return;
        ++seed;
      }
    }
  }
}

class BackendTest : public testing::Test {
 protected:
  const std::unique_ptr<Backend> reference_ = make_reference_backend();
  const std::unique_ptr<Backend> cpu_ = make_cpu_backend(1);
  const std::unique_ptr<Backend> threaded_ = make_cpu_backend(3);
};

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]), std::bit_cast<std::uint32_t>(actual[j]))
        << "coordinate " << j << ": " << expected[j] << " and " << actual[j];
  }
}

// Equal up to a rounding to float of numbers as large as `scale`.
void expect_close(const std::vector<float>& expected, const std::vector<float>& actual,
                  const std::vector<double>& scale) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_TRUE(std::isfinite(actual[j])) << "coordinate " << j;
    const double tolerance = 1.5e-45 + scale[j] * 1.2e-7;  // the first is one denormal step
    ASSERT_NEAR(expected[j], actual[j], tolerance) << "coordinate " << j;
  }
}

std::vector<double> largest_in_columns(const TestTable& table) {
  std::vector<double> largest(table.dim());
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    for (std::size_t j = 0; j < table.dim(); ++j) {
      largest[j] = std::max(largest[j], std::abs(static_cast<double>(table[i][j])));
    }
  }
  return largest;
}

TEST_F(BackendTest, WeightedMedianIsBitEqualToTheReference) {
  for_each_case([&](TestTable& table, const Weights& weights) {
    std::vector<float> expected(table.dim()), actual(table.dim()), threaded(table.dim());
    reference_->weighted_median(table.view(), weights, expected);
    cpu_->weighted_median(table.view(), weights, actual);
    threaded_->weighted_median(table.view(), weights, threaded);
    expect_same_bits(expected, actual);
    expect_same_bits(expected, threaded);
  });
}

TEST_F(BackendTest, TrimmedMeanAgreesWithTheReference) {
  for_each_case([&](TestTable& table, const Weights& weights) {
    for (const double trim : {0.0, 0.1, 0.25, 1.0 / 3.0, 0.45, 0.499}) {
      std::vector<float> expected(table.dim()), actual(table.dim()), threaded(table.dim());
      reference_->weighted_trimmed_mean(table.view(), weights, trim, expected);
      cpu_->weighted_trimmed_mean(table.view(), weights, trim, actual);
      threaded_->weighted_trimmed_mean(table.view(), weights, trim, threaded);
      expect_close(expected, actual, largest_in_columns(table));
      expect_same_bits(actual, threaded);
    }
  });
}

// 1/49 of 49 rows is one row, though 1/49 is not exact: nothing of the huge row may be left.
TEST_F(BackendTest, TrimmedMeanLeavesNoSliverOfATrimmedRow) {
  for (const std::size_t rows : {49u, 100u}) {
    TestTable table(rows, 20);
    for (std::size_t i = 0; i < rows; ++i) table[i].assign(20, i == 3 ? -3e38f : 1.0f);
    const double trim = rows == 49 ? 1.0 / 49.0 : 29.0 / 100.0;
    for (const auto* backend : {reference_.get(), cpu_.get()}) {
      std::vector<float> out(20);
      backend->weighted_trimmed_mean(table.view(), Weights::equal(rows), trim, out);
      EXPECT_EQ(out, std::vector<float>(20, 1.0f)) << rows << " rows, " << backend->name();
    }
  }
}

TEST_F(BackendTest, InnerProductsAgreeWithTheReference) {
  for_each_case([&](TestTable& table, const Weights&) {
    const std::size_t m = table.row_count();
    std::vector<double> expected(m * m), actual(m * m), threaded(m * m), row(m);
    for (const bool is_centred : {false, true}) {
      const std::vector<float> centre = is_centred ? table[m / 2] : std::vector<float>();
      reference_->inner_products(table.view(), 0, m, centre, expected);
      cpu_->inner_products(table.view(), 0, m, centre, actual);
      threaded_->inner_products(table.view(), 0, m, centre, threaded);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
          const double scale = std::sqrt(expected[i * m + i] * expected[j * m + j]);
          ASSERT_NEAR(expected[i * m + j], actual[i * m + j], 1e-13 * scale) << i << " " << j;
        }
        // One row at a time gives the same bits as the whole table.
        cpu_->inner_products(table.view(), i, i + 1, centre, row);
        ASSERT_TRUE(std::equal(row.begin(), row.end(),
                               actual.begin() + static_cast<std::ptrdiff_t>(i * m)));
      }
      ASSERT_EQ(actual, threaded);
    }
  });
}

TEST_F(BackendTest, SquaredDistancesAgreeWithTheReference) {
  for_each_case([&](TestTable& table, const Weights&) {
    const std::size_t m = table.row_count();
    std::vector<double> expected(m), actual(m), threaded(m);
    for (const bool has_point : {false, true}) {
      const std::vector<float> point = has_point ? table[0] : std::vector<float>();
      reference_->squared_distances(table.view(), point, expected);
      cpu_->squared_distances(table.view(), point, actual);
      threaded_->squared_distances(table.view(), point, threaded);
      for (std::size_t i = 0; i < m; ++i) ASSERT_NEAR(expected[i], actual[i], 1e-13 * expected[i]);
      ASSERT_EQ(actual, threaded);
    }
  });
}

TEST_F(BackendTest, MixAgreesWithTheReferenceAndSaturates) {
  for_each_case([&](TestTable& table, const Weights& weights) {
    const std::size_t m = table.row_count();
    std::vector<double> coefficients(2 * m);
    for (std::size_t i = 0; i < m; ++i) coefficients[i] = weights.share(i);
    for (std::size_t i = 0; i < m; ++i) coefficients[m + i] = i % 2 == 0 ? 1.5 : 0.0;
    const std::vector<float> empty(table.dim());
    std::vector<float> expected[] = {empty, empty}, actual[] = {empty, empty};
    std::vector<float> threaded[] = {empty, empty};
    float* expected_rows[] = {expected[0].data(), expected[1].data()};
    float* actual_rows[] = {actual[0].data(), actual[1].data()};
    float* threaded_rows[] = {threaded[0].data(), threaded[1].data()};
    const MatrixView matrix(coefficients, m);
    reference_->mix(table.view(), matrix, MutableRowsView(expected_rows, table.dim()));
    cpu_->mix(table.view(), matrix, MutableRowsView(actual_rows, table.dim()));
    threaded_->mix(table.view(), matrix, MutableRowsView(threaded_rows, table.dim()));
    auto scale = largest_in_columns(table);
    expect_close(expected[0], actual[0], scale);
    for (double& s : scale) s *= 1.5 * static_cast<double>(m);
    expect_close(expected[1], actual[1], scale);
    expect_same_bits(actual[0], threaded[0]);
    expect_same_bits(actual[1], threaded[1]);
  });
}

TEST_F(BackendTest, AllFiniteFindsOneBadValueAnywhere) {
  for (const std::size_t size : {1, 15, 16, 17, 63, 64, 65, 1000, 5000}) {
    std::vector<float> values(size, 3.4e38f);
    EXPECT_TRUE(cpu_->all_finite(values));
    for (std::size_t at = 0; at < size; at += 1 + size / 97) {
      for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
        const float good = std::exchange(values[at], bad);
        ASSERT_FALSE(cpu_->all_finite(values)) << size << " values, bad one at " << at;
        ASSERT_FALSE(threaded_->all_finite(values));
        values[at] = good;
      }
    }
  }
  EXPECT_TRUE(cpu_->all_finite({}));
}

TEST_F(BackendTest, CopyFiniteCopiesAndFindsOneBadValueAnywhere) {
  for (const std::size_t size : {1, 15, 16, 17, 63, 64, 65, 1000, 5000, 20000}) {
    const TestTable table = make_table(Filling::kMixed, 1, size, size);
    std::vector<float> values = table[0];
    for (const auto* backend : {reference_.get(), cpu_.get(), threaded_.get()}) {
      std::vector<float> copy(size, NAN);
      ASSERT_TRUE(backend->copy_finite(values, copy)) << size << " values, " << backend->name();
      expect_same_bits(values, copy);
      for (std::size_t at = 0; at < size; at += 1 + size / 97) {
        for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
          const float good = std::exchange(values[at], bad);
          ASSERT_FALSE(backend->copy_finite(values, copy)) << size << " values, bad one at " << at;
          values[at] = good;
        }
      }
    }
  }
}

// The exponent alone decides, so two mantissas per exponent and sign show what all 2^32 patterns
// do; tests/all_float_patterns_test.cc goes through every one of them.
TEST_F(BackendTest, AllFiniteLooksAtTheExponentAlone) {
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x400000u, 0x7FFFFFu}) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        const float value = std::bit_cast<float>(sign | exponent << 23 | mantissa);
        EXPECT_EQ(cpu_->all_finite({&value, 1}), exponent != 255);
      }
    }
  }
}

TEST(CudaBackend, SaysThatThisBuildHasNone) {
  const auto backend = make_cuda_backend();
  ASSERT_FALSE(backend.has_value());
  EXPECT_EQ(backend.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace ballast::kernels
