// Every operation of every backend against the plain loops of reference/, over awkward shapes, tied
// and hostile values and every kind of weights; and the same bits from call to call, with any
// number of threads.

#include "ballast/kernels/backend.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "ballast/kernels/backends_for_test.h"
#include "ballast/kernels/cpu/target_for_test.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/peak.h"

namespace ballast::kernels {
namespace {

struct Size {
  std::size_t rows, dim;
};
constexpr Size kSizes[] = {{1, 1},    {1, 33},   {2, 1},    {2, 7},     {3, 16},   {4, 17},
                           {5, 31},   {8, 64},   {9, 129},  {16, 40},   {17, 75},  {31, 48},
                           {32, 20},  {33, 65},  {40, 9},   {64, 50},   {70, 31},  {97, 130},
                           {200, 21}, {3, 9000}, {6, 4096}, {17, 5000}, {25, 2100}};

constexpr std::size_t kPlainDimMax = 40;

// Under the thread sanitizer an emulated device takes seven times as long for all kinds of values,
// minutes for one test; this one has ties, on which the way through a kernel depends most.
#if defined(BALLAST_TEST_EMULATED) && defined(__SANITIZE_THREAD__)
constexpr Filling kFillingsHere[] = {Filling::kTied};
#else
constexpr auto& kFillingsHere = kFillings;
#endif

// Calls check(rows, seed) for every combination of size and filling.
template <typename Check>
void for_each_table(const BackendKind& kind, const Check& check) {
  std::uint64_t seed = 1;
  for (const Size size : kSizes) {
    if (kind.is_plain && size.dim > kPlainDimMax) continue;
    for (const Filling filling : kFillingsHere) {
      SCOPED_TRACE(testing::Message() << size.rows << " x " << size.dim << ", filling "
                                      << static_cast<int>(filling) << ", seed " << seed);
      TestTable rows = make_table(filling, size.rows, size.dim, seed);
      check(rows, seed++);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Calls check(rows, weights) for each of them with every weighting.
template <typename Check>
void for_each_case(const BackendKind& kind, const Check& check) {
  for_each_table(kind, [&](TestTable& rows, std::uint64_t seed) {
    for (const Weighting weighting : kWeightings) {
      SCOPED_TRACE(testing::Message() << "weighting " << static_cast<int>(weighting));
      check(rows, *Weights::make(make_weights(weighting, rows.row_count(), seed)));
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

class BackendTest : public testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override {
    if (backend_ == nullptr) GTEST_SKIP() << make_cuda_backend().error().message;
  }

  const std::unique_ptr<host::Primitives> plain_ = host::make_reference_primitives();
  const std::unique_ptr<Backend> backend_ = GetParam().make(1);
  const std::unique_ptr<Backend> again_ = GetParam().make(3);  // the same with other threads
};

void expect_same_bits(std::span<const float> expected, std::span<const float> actual) {
  ASSERT_EQ(expected.size(), actual.size());
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

std::vector<double> largest_in_columns(const TestTable& rows) {
  std::vector<double> largest(rows.dim());
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    for (std::size_t j = 0; j < rows.dim(); ++j) {
      largest[j] = std::max(largest[j], std::abs(static_cast<double>(rows[i][j])));
    }
  }
  return largest;
}

TEST_P(BackendTest, WeightedMedianIsBitEqualToTheReference) {
  for_each_case(GetParam(), [&](TestTable& rows, const Weights& weights) {
    std::vector<float> expected(rows.dim());
    plain_->weighted_median(rows.view(), weights, expected);
    for (const Backend* backend : {backend_.get(), again_.get()}) {
      const auto table = own_rows(*backend, rows);
      const auto out = backend->make_vector(rows.dim());
      backend->weighted_median(*table, weights, *out);
      expect_same_bits(expected, values_of(*out));
      expect_same_bits(expected, values_of(backend->follow_median(*table, weights)));
    }
  });
}

// Whatever happens between two questions, the answer is the median of the rows as they are.
TEST_P(BackendTest, FollowsTheMedianThroughAnyHistory) {
  constexpr std::size_t kDim = 70, kRowsMax = 14;
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    TestTable rows = make_table(Filling::kNormal, 1, kDim, seed);
    const auto table = own_rows(*backend_, rows);
    std::vector<std::vector<float>> now = {rows[0]};
    std::vector<std::uint64_t> counts = {1};
    RowBuffer buffer(kDim, 0);
    for (int step = 0; step < 300; ++step) {
      const std::size_t at = rng.below(now.size());
      const bool inserts = now.size() < kRowsMax && rng.below(8) == 0;
      if (now.size() > 1 && rng.below(12) == 0) {
        table->remove(at);
        now.erase(now.begin() + static_cast<std::ptrdiff_t>(at));
        counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::vector<float> row = now[at];
        const double noise = step / 75 % 2 == 0 ? 0.01 : 1.0;
        for (float& value : row) value = static_cast<float>(value + noise * rng.normal());
        std::ranges::copy(row, buffer.values().begin());
        const Incoming handed_over{.values = buffer.values(), .memory = &buffer};
        const Incoming incoming = rng.below(2) == 0 ? handed_over : Incoming{.values = row};
        ASSERT_TRUE(inserts ? table->insert(at, incoming) : table->put(at, incoming));
        if (inserts) {
          now.insert(now.begin() + static_cast<std::ptrdiff_t>(at), row);
          counts.insert(counts.begin() + static_cast<std::ptrdiff_t>(at), 1);
        } else {
          now[at] = row;
          counts[at] += 1;
        }
      }
      if (rng.below(20) == 0) counts[rng.below(counts.size())] += 70000;
      if (rng.below(4) == 0) continue;
      Weights weights;
      weights.assign_units(counts);
      std::vector<const float*> pointers;
      pointers.reserve(now.size());
      for (const auto& row : now) pointers.push_back(row.data());
      std::vector<float> expected(kDim);
      plain_->weighted_median({pointers, kDim}, weights, expected);
      expect_same_bits(expected, values_of(backend_->follow_median(*table, weights)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(BackendTest, TrimmedMeanAgreesWithTheReference) {
  for_each_case(GetParam(), [&](TestTable& rows, const Weights& weights) {
    for (const double trim : {0.0, 0.1, 0.25, 1.0 / 3.0, 0.45, 0.499}) {
      std::vector<float> expected(rows.dim());
      plain_->weighted_trimmed_mean(rows.view(), weights, trim, expected);
      const auto table = own_rows(*backend_, rows);
      const auto out = backend_->make_vector(rows.dim()),
                 repeated = again_->make_vector(rows.dim());
      backend_->weighted_trimmed_mean(*table, weights, trim, *out);
      again_->weighted_trimmed_mean(*table, weights, trim, *repeated);
      expect_close(expected, values_of(*out), largest_in_columns(rows));
      expect_same_bits(values_of(*out), values_of(*repeated));
    }
  });
}

// 1/49 of 49 rows is one row, though 1/49 is not exact: nothing of the huge row may be left.
TEST_P(BackendTest, TrimmedMeanLeavesNoSliverOfATrimmedRow) {
  for (const std::size_t count : {49u, 100u}) {
    TestTable rows(count, 20);
    for (std::size_t i = 0; i < count; ++i) rows[i].assign(20, i == 3 ? -3e38f : 1.0f);
    const double trim = count == 49 ? 1.0 / 49.0 : 29.0 / 100.0;
    const auto out = backend_->make_vector(20);
    backend_->weighted_trimmed_mean(*own_rows(*backend_, rows), Weights::equal(count), trim, *out);
    EXPECT_EQ(values_of(*out), std::vector<float>(20, 1.0f)) << count << " rows";
  }
}

TEST_P(BackendTest, InnerProductsAgreeWithTheReference) {
  for_each_table(GetParam(), [&](TestTable& rows, std::uint64_t) {
    const std::size_t m = rows.row_count();
    const auto table = own_rows(*backend_, rows);
    const auto row_as_centre = own_vector(*backend_, rows[m / 2]);
    std::vector<double> expected(m * m), actual(m * m), repeated(m * m), row(m);
    const std::size_t step = m > 16 ? kSmallerBy : 1;
    for (const bool is_centred : {false, true}) {
      const Vector* centre = is_centred ? row_as_centre.get() : nullptr;
      plain_->inner_products(rows.view(), 0, m, is_centred ? rows[m / 2] : std::vector<float>(),
                             expected);
      backend_->inner_products(*table, 0, m, centre, actual);
      again_->inner_products(*table, 0, m, centre, repeated);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
          const double scale = std::sqrt(expected[i * m + i] * expected[j * m + j]);
          ASSERT_NEAR(expected[i * m + j], actual[i * m + j], 1e-13 * scale) << i << " " << j;
        }
        if (i % step != 0) continue;
        // One row at a time gives the same bits as the whole table.
        backend_->inner_products(*table, i, i + 1, centre, row);
        ASSERT_TRUE(std::equal(row.begin(), row.end(),
                               actual.begin() + static_cast<std::ptrdiff_t>(i * m)));
      }
      ASSERT_EQ(actual, repeated);
    }
  });
}

TEST(Peak, IsWhatSomeProcessorCanReach) {
  const double peak = measure_peak(2);
  EXPECT_GT(peak, 1e6);
  EXPECT_LT(peak, 1e13);
}

TEST(InnerProducts, OfManyRowsHaveTheSameBitsOnAvx2AndAvx512) {
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0) GTEST_SKIP() << "this machine has no AVX-512";
  for (const std::size_t m : {1u, 4u, 11u, 17u, 30u, 31u, 61u, 150u, 400u}) {
    SCOPED_TRACE(m);
    TestTable rows = make_table(Filling::kNormal, m, 300, m);
    std::vector<double> narrow(m * m), wide(m * m);
    for (const bool is_centred : {false, true}) {
      const std::vector<float> centre = is_centred ? rows[m / 2] : std::vector<float>();
      const auto primitives = host::make_cpu_primitives(2);
      primitives->inner_products(rows.view(), 0, m, centre, wide);
      const OnTarget avx2(HWY_AVX2);
      primitives->inner_products(rows.view(), 0, m, centre, narrow);
      EXPECT_EQ(narrow, wide);
    }
  }
}

TEST_P(BackendTest, SquaredDistancesAgreeWithTheReference) {
  for_each_table(GetParam(), [&](TestTable& rows, std::uint64_t) {
    const std::size_t m = rows.row_count();
    const auto table = own_rows(*backend_, rows);
    const auto first = own_vector(*backend_, rows[0]);
    std::vector<double> expected(m), actual(m), repeated(m);
    for (const bool has_point : {false, true}) {
      const Vector* point = has_point ? first.get() : nullptr;
      plain_->squared_distances(rows.view(), has_point ? rows[0] : std::vector<float>(), expected);
      backend_->squared_distances(*table, point, actual);
      again_->squared_distances(*table, point, repeated);
      for (std::size_t i = 0; i < m; ++i) ASSERT_NEAR(expected[i], actual[i], 1e-13 * expected[i]);
      ASSERT_EQ(actual, repeated);
    }
  });
}

TEST_P(BackendTest, CombinationsAgreeWithTheReferenceAndSaturate) {
  for_each_case(GetParam(), [&](TestTable& rows, const Weights& weights) {
    const std::size_t m = rows.row_count();
    std::vector<double> coefficients(2 * m);
    for (std::size_t i = 0; i < m; ++i) coefficients[i] = weights.share(i);
    for (std::size_t i = 0; i < m; ++i) coefficients[m + i] = i % 2 == 0 ? 1.5 : 0.0;
    const MatrixView matrix(coefficients, m);
    std::vector<float> expected[] = {std::vector<float>(rows.dim()),
                                     std::vector<float>(rows.dim())};
    float* const pointers[] = {expected[0].data(), expected[1].data()};
    plain_->mix(rows.view(), matrix, MutableRowsView(pointers, rows.dim()));
    const auto table = own_rows(*backend_, rows);
    const auto mixed = backend_->make_table(rows.dim()), repeated = again_->make_table(rows.dim());
    const auto combined = backend_->make_vector(rows.dim());
    backend_->mix(*table, matrix, *mixed);
    again_->mix(*table, matrix, *repeated);
    ASSERT_EQ(mixed->row_count(), 2u);
    auto scale = largest_in_columns(rows);
    for (const std::size_t r : {0u, 1u}) {
      expect_close(expected[r], values_of(*mixed, r), scale);
      expect_same_bits(values_of(*mixed, r), values_of(*repeated, r));
      backend_->combine(*table, matrix.row(r), *combined);
      expect_same_bits(values_of(*mixed, r), values_of(*combined));
      for (double& s : scale) s *= 1.5 * static_cast<double>(m);
    }
  });
}

// One mixture takes its rows in groups, many mixtures all rows at once: both add in the same order.
TEST_P(BackendTest, CombinesAnyNumberOfRowsWithTheBitsOfAMixture) {
  constexpr std::size_t kRows = 40, kDim = 6500;
  TestTable rows = make_table(Filling::kNormal, kRows, kDim, 1);
  const auto table = own_rows(*backend_, rows);
  const auto mixed = backend_->make_table(kDim);
  const auto combined = backend_->make_vector(kDim);
  for (std::size_t used = 0; used <= kRows; ++used) {
    SCOPED_TRACE(used);
    std::vector<double> twice(2 * kRows, 0.0);
    for (std::size_t i = 0; i < used; ++i) {
      twice[7 * i % kRows] = twice[kRows + 7 * i % kRows] = 1.0 / static_cast<double>(3 + i);
    }
    backend_->mix(*table, MatrixView(twice, kRows), *mixed);
    backend_->combine(*table, std::span(twice).first(kRows), *combined);
    expect_same_bits(values_of(*mixed, 1), values_of(*combined));
  }
}

TEST_P(BackendTest, MixesIntoATableThatHeldMoreOrFewerRows) {
  const TestTable rows = make_table(Filling::kNormal, 3, 40, 1);
  const auto table = own_rows(*backend_, rows);
  const auto mixed = backend_->make_table(40);
  const std::vector<double> units = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const std::size_t count : {3u, 1u, 2u}) {
    backend_->mix(*table, MatrixView(std::span(units).first(3 * count), 3), *mixed);
    ASSERT_EQ(mixed->row_count(), count);
    for (std::size_t i = 0; i < count; ++i) expect_same_bits(rows[i], values_of(*mixed, i));
  }
}

TEST_P(BackendTest, FindsOneBadValueAnywhereInBorrowedRows) {
  for (const std::size_t dim : {1, 15, 16, 17, 63, 64, 65, 1000, 5000}) {
    TestTable rows(2, dim);
    rows[1].assign(dim, 3.4e38f);
    const auto table = backend_->make_table(dim);
    table->borrow(rows.view());
    EXPECT_TRUE(backend_->all_finite(*table, 1));
    for (std::size_t at = 0; at < dim; at += 1 + dim / 97) {
      for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
        const float good = std::exchange(rows[1][at], bad);
        table->borrow(rows.view());
        ASSERT_TRUE(backend_->all_finite(*table, 0));
        ASSERT_FALSE(backend_->all_finite(*table, 1)) << dim << " values, bad one at " << at;
        ASSERT_FALSE(again_->all_finite(*table, 1));
        rows[1][at] = good;
      }
    }
  }
}

// The exponent alone decides, so two mantissas per exponent and sign show what all 2^32 patterns
// do; tests/all_float_patterns_test.cc goes through every one of them.
TEST_P(BackendTest, LooksAtTheExponentAloneForWhatIsFinite) {
  TestTable rows(1, 1);
  const auto table = backend_->make_table(1);
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x400000u, 0x7FFFFFu}) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        rows[0][0] = std::bit_cast<float>(sign | exponent << 23 | mantissa);
        table->borrow(rows.view());
        EXPECT_EQ(backend_->all_finite(*table, 0), exponent != 255);
      }
    }
  }
}

TEST_P(BackendTest, KeepsRowsInTheirPlacesWithTheirBits) {
  const TestTable rows = make_table(Filling::kMixed, 4, 33, 2);
  const auto table = backend_->make_table(33);
  ASSERT_TRUE(table->insert(0, {.values = rows[1]}));
  ASSERT_TRUE(table->insert(1, {.values = rows[0]}));
  ASSERT_TRUE(table->insert(0, {.values = rows[0]}));
  ASSERT_TRUE(table->put(2, {.values = rows[3]}));
  ASSERT_TRUE(table->insert(2, {.values = rows[2]}));
  for (std::size_t i = 0; i < 4; ++i) expect_same_bits(rows[i], values_of(*table, i));
  table->remove(1);
  ASSERT_EQ(table->row_count(), 3u);
  expect_same_bits(rows[2], values_of(*table, 1));

  TestTable zeros(1, 3);
  zeros[0] = {-0.0f, 0.0f, -1e-45f};
  const auto copy = backend_->make_vector(3);
  backend_->copy_row(*own_rows(*backend_, zeros), 0, *copy);
  expect_same_bits(zeros[0], values_of(*copy));
}

TEST_P(BackendTest, RefusesARowThatIsNotFiniteAndStaysAsItWas) {
  for (const std::size_t dim : {1, 16, 67, 5000, 20000}) {
    const TestTable rows = make_table(Filling::kMixed, 2, dim, dim);
    const auto table = own_rows(*backend_, rows);
    (void)backend_->follow_median(*table, Weights::equal(2));
    RowBuffer buffer(dim, 0);
    for (std::size_t at = 0; at < dim; at += 1 + dim / 13) {
      for (const float bad : {NAN, -INFINITY}) {
        std::vector<float> row = rows[0];
        row[at] = bad;
        std::ranges::copy(row, buffer.values().begin());
        const float* const place = buffer.values().data();
        const Incoming handed_over{.values = buffer.values(), .memory = &buffer};
        ASSERT_FALSE(table->put(1, {.values = row})) << dim << " values, bad one at " << at;
        ASSERT_FALSE(table->insert(0, {.values = row}));
        ASSERT_FALSE(table->put(1, handed_over));
        ASSERT_FALSE(table->insert(2, handed_over));
        ASSERT_EQ(buffer.values().data(), place) << "a refused buffer stays with its owner";
      }
    }
    ASSERT_EQ(table->row_count(), 2u);
    for (const std::size_t i : {0u, 1u}) expect_same_bits(rows[i], values_of(*table, i));
    std::vector<float> expected(dim);
    TestTable same = rows;
    plain_->weighted_median(same.view(), Weights::equal(2), expected);
    expect_same_bits(expected, values_of(backend_->follow_median(*table, Weights::equal(2))));
  }
}

// In host memory the buffer becomes the row; on a device it stays. Either way there is one to fill.
TEST_P(BackendTest, TakesARowWithItsMemory) {
  const TestTable rows = make_table(Filling::kNormal, 3, 100, 3);
  const auto table = own_rows(*backend_, rows);
  RowBuffer buffer(100, 7);
  for (const std::size_t i : {2u, 0u, 1u}) {
    std::ranges::copy(rows[(i + 1) % 3], buffer.values().begin());
    const float* const place = buffer.values().data();
    ASSERT_TRUE(table->put(i, {.values = buffer.values(), .memory = &buffer}));
    expect_same_bits(rows[(i + 1) % 3], values_of(*table, i));
    ASSERT_EQ(buffer.values().size(), 100u);
    if (!table->host_row(i).empty()) {
      EXPECT_EQ(table->host_row(i).data(), place) << "nothing was copied";
      EXPECT_NE(buffer.values().data(), place);
    }
  }
}

TEST_P(BackendTest, BorrowsInHostMemoryWithoutACopyOrNotAtAll) {
  TestTable rows = make_table(Filling::kNormal, 2, 50, 4);
  const auto table = backend_->make_table(50);
  table->borrow(rows.view());
  expect_same_bits(rows[1], values_of(*table, 1));
  if (!table->host_row(1).empty()) {
    EXPECT_EQ(table->host_row(1).data(), rows[1].data());
  }

  std::vector<float> out(50);
  const auto vector = backend_->make_vector(50);
  const bool is_there = vector->borrow(out);
  backend_->copy_row(*table, 0, *vector);
  expect_same_bits(rows[0], values_of(*vector));
  EXPECT_EQ(out == rows[0], is_there);
  EXPECT_EQ(vector->host_view().data() == out.data(), is_there);
}

// A product that is rounded before anything is added to it.
double product(double left, double right) {
  const volatile double rounded = left * right;
  return rounded;
}

TEST_P(BackendTest, StepsRoundProductsAndSumsSeparately) {
  constexpr double kRate = 0.3, kShare = 0.1;
  for (const std::size_t dim : {1, 31, 1003, 9001}) {
    TestTable rows = make_table(Filling::kNormal, 3, dim, 5);
    const auto w = own_vector(*backend_, rows[0]), d = own_vector(*backend_, rows[1]),
               x = own_vector(*backend_, rows[2]);
    std::vector<float> expected_w(dim), expected_x(dim);
    for (std::size_t j = 0; j < dim; ++j) {
      expected_w[j] = static_cast<float>(rows[0][j] - product(kRate, rows[1][j]));
      expected_x[j] =
          static_cast<float>(product(kShare, expected_w[j]) + product(1.0 - kShare, rows[2][j]));
    }
    for (const Backend* backend : {backend_.get(), again_.get()}) {
      const auto next_w = backend->make_vector(dim), next_x = backend->make_vector(dim);
      ASSERT_TRUE(backend->descend(*w, *d, kRate, *next_w));
      ASSERT_TRUE(backend->average(*next_w, *x, kShare, *next_x));
      expect_same_bits(expected_w, values_of(*next_w));
      expect_same_bits(expected_x, values_of(*next_x));
      const auto both_w = backend->make_vector(dim), both_x = backend->make_vector(dim);
      ASSERT_TRUE(backend->descend_and_average(*w, *d, kRate, *x, kShare, *both_w, *both_x));
      expect_same_bits(expected_w, values_of(*both_w));
      expect_same_bits(expected_x, values_of(*both_x));
    }
  }
}

TEST_P(BackendTest, StepsFindWhatIsNotFiniteWhereverItIs) {
  constexpr std::size_t kDim = 9001;
  const TestTable rows = make_table(Filling::kNormal, 2, kDim, 6);
  const auto w = own_vector(*backend_, rows[0]);
  const auto next = backend_->make_vector(kDim), next_x = backend_->make_vector(kDim);
  for (const std::size_t place : {std::size_t{0}, std::size_t{17}, std::size_t{4096}, kDim - 1}) {
    for (const float bad : {NAN, INFINITY, -INFINITY, 3.4e38f}) {
      std::vector<float> direction = rows[1];
      direction[place] = bad;
      const auto d = own_vector(*backend_, direction);
      EXPECT_FALSE(backend_->descend(*w, *d, 3.0, *next));
      EXPECT_FALSE(backend_->descend_and_average(*w, *d, 3.0, *w, 0.1, *next, *next_x));
      EXPECT_EQ(backend_->average(*w, *d, 0.1, *next), std::isfinite(bad));
    }
  }
}

// Plainly so: with a fused product a few of these values would be others.
std::vector<float> corrected(const TestTable& rows, double keep) {
  std::vector<float> expected(rows.dim());
  for (std::size_t j = 0; j < rows.dim(); ++j) {
    const double difference = double{rows[1][j]} - double{rows[2][j]};
    expected[j] = static_cast<float>(double{rows[0][j]} + product(keep, difference));
  }
  return expected;
}

TEST_P(BackendTest, CorrectionsRoundProductsAndSumsSeparately) {
  for (const std::size_t dim : {1, 31, 1003, 9001, 70'001}) {
    for (const double keep : {0.9, 0.75, 1.0 / 3.0, 1.0, 1e-30}) {
      SCOPED_TRACE(testing::Message() << dim << " values, keep " << keep);
      const TestTable rows = make_table(Filling::kNormal, 3, dim, dim);
      const std::vector<float> expected = corrected(rows, keep);
      for (const Backend* backend : {backend_.get(), again_.get()}) {
        const auto next = backend->make_vector(dim), g = own_vector(*backend, rows[0]),
                   before = own_vector(*backend, rows[1]),
                   reference = own_vector(*backend, rows[2]),
                   mark = own_vector(*backend, std::vector{0.5f});
        backend->correct({*g, *before, *reference}, keep, *next, *mark, nullptr);
        expect_same_bits(expected, values_of(*next));
        EXPECT_EQ(values_of(*mark), std::vector{0.5f}) << "left alone";
      }
    }
  }
}

TEST_P(BackendTest, CorrectionsMayReplaceWhatTheyAreMadeOf) {
  constexpr std::size_t kDim = 9001;
  const TestTable rows = make_table(Filling::kNormal, 3, kDim, 8);
  const std::vector<float> expected = corrected(rows, 0.9);
  for (const std::size_t replaced : {0, 1, 2}) {
    std::unique_ptr<Vector> own[3];
    for (std::size_t i = 0; i < 3; ++i) own[i] = own_vector(*backend_, rows[i]);
    const auto mark = own_vector(*backend_, std::vector{0.0f});
    backend_->correct({*own[0], *own[1], *own[2]}, 0.9, *own[replaced], *mark, nullptr);
    expect_same_bits(expected, values_of(*own[replaced]));
  }
  // Momentum: the reference is the gradient.
  TestTable twice = rows;
  twice[2] = twice[0];
  const auto g = own_vector(*backend_, rows[0]), before = own_vector(*backend_, rows[1]),
             mark = own_vector(*backend_, std::vector{0.0f});
  backend_->correct({*g, *before, *g}, 0.9, *g, *mark, nullptr);
  expect_same_bits(corrected(twice, 0.9), values_of(*g));
}

TEST_P(BackendTest, CorrectionsMarkWhatIsNotFiniteWhereverItIs) {
  constexpr std::size_t kDim = 9001;
  const TestTable rows = make_table(Filling::kNormal, 3, kDim, 9);
  const auto next = backend_->make_vector(kDim);
  const auto mark_of = [&](const TestTable& given) {
    const auto g = own_vector(*backend_, given[0]), before = own_vector(*backend_, given[1]),
               reference = own_vector(*backend_, given[2]),
               mark = own_vector(*backend_, std::vector{0.0f});
    backend_->correct({*g, *before, *reference}, 0.9, *next, *mark, nullptr);
    return values_of(*mark)[0];
  };
  for (const std::size_t place : {std::size_t{0}, std::size_t{17}, std::size_t{4096}, kDim - 1}) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const std::size_t row : {0, 1, 2}) {
        TestTable with_bad = rows;
        with_bad[row][place] = bad;
        EXPECT_TRUE(std::isnan(mark_of(with_bad))) << bad << " at " << place;
      }
    }
    TestTable too_large = rows;
    too_large[0][place] = too_large[1][place] = 3.4e38f;
    EXPECT_TRUE(std::isnan(mark_of(too_large))) << "at " << place;
    too_large[1][place] = 0.0f;
    EXPECT_EQ(mark_of(too_large), 0.0f) << "large, but a float";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BackendTest, testing::ValuesIn(backend_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST(HostBackends, ComputeWhereAViewLooks) {
  for (const auto& backend : {make_cpu_backend(2), make_reference_backend()}) {
    std::vector<float> g = {1.0f, 2.0f}, before = {3.0f, 5.0f}, mark = {0.0f};
    const auto gradient = backend->view(g), last = backend->view(before), at = backend->view(mark);
    ASSERT_TRUE(backend->can_use(*gradient));
    backend->correct({*gradient, *last, *gradient}, 0.5, *gradient, *at, nullptr);
    EXPECT_EQ(g, (std::vector{2.0f, 3.5f}));
    before[1] = INFINITY;
    backend->correct({*gradient, *last, *gradient}, 0.5, *gradient, *at, nullptr);
    EXPECT_TRUE(std::isnan(mark[0]));
  }
}

TEST(HostBackends, WorkOnTheTablesOfEachOther) {
  const auto cpu = make_cpu_backend(1), reference = make_reference_backend();
  const TestTable rows = make_table(Filling::kNormal, 3, 20, 7);
  const auto table = own_rows(*cpu, rows);
  const auto median = reference->make_vector(20);
  ASSERT_TRUE(reference->can_use(*table));
  ASSERT_TRUE(cpu->can_use(*median));
  reference->weighted_median(*table, Weights::equal(3), *median);
  expect_same_bits(values_of(*median), values_of(cpu->follow_median(*table, Weights::equal(3))));
}

}  // namespace
}  // namespace ballast::kernels
