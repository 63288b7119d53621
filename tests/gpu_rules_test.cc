// Every rule on the device against the same rule on the reference backend: from nothing, and while
// a server replaces rows. Skipped where there is no device.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ballast/kernels/backends_for_test.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"

namespace ballast::robust {
namespace {

using kernels::Filling;
using kernels::Weighting;

// Relative to the largest value of the rows. The geometric median is converged to 1e-6 of its
// objective, and a difference in the last digit of a product may end it a step earlier. Results are
// floats, so that among denormals a difference in the last digit of a sum is a whole unit.
constexpr double kTolerance = 1e-5;
double unit_of(float value) {
  const float size = std::abs(value);
  return static_cast<double>(std::nextafter(size, INFINITY)) - static_cast<double>(size);
}

constexpr const char* kRules[] = {"mean",
                                  "cwmed",
                                  "cwtm(0.2)",
                                  "gm",
                                  "ctma(gm, 0.4)",
                                  "ctma(cwmed, 0.3)",
                                  "ctma(cwtm(0.1), 0.2)",
                                  "krum(0.2)",
                                  "multikrum(0.2)",
                                  "mda(0.3)",
                                  "caf(0.2)",
                                  "dnc(0.2)",
                                  "distinct(ctma(gm, 0.4))",
                                  "nnm(gm, 0.2)",
                                  "nnm(cwmed, 0.2)",
                                  "bucketing(gm, 2)",
                                  "bucketing(cwmed, 3)",
                                  "unweighted(ctma(gm, 0.2))",
                                  "gm(iterations=3)"};

class GpuRules : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto backend = kernels::make_cuda_backend();
    if (!backend) GTEST_SKIP() << backend.error().message;
    cuda_ = *std::move(backend);
  }

  // cwmed alone is a value of the rows, or the mean of two, and the same bits everywhere.
  void expect_equal(const std::vector<float>& expected, const std::vector<float>& actual,
                    double scale) const {
    for (std::size_t j = 0; j < expected.size(); ++j) {
      ASSERT_TRUE(std::isfinite(actual[j]));
      if (std::string_view(GetParam()) == "cwmed") {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]),
                  std::bit_cast<std::uint32_t>(actual[j]));
      }
      ASSERT_NEAR(expected[j], actual[j], kTolerance * scale + unit_of(expected[j]))
          << "coordinate " << j;
    }
  }

  // Two rows of equal weight are equally far from their geometric median, and the last digit of the
  // distances decides which of them ctma trims. Of the two answers, which add up to the sum of the
  // rows, this is the one nearer to `actual`; every coordinate must then be that one's.
  std::vector<float> untied(const kernels::TestTable& rows, std::vector<float> expected,
                            const std::vector<float>& actual) const {
    if (std::string_view(GetParam()) != "unweighted(ctma(gm, 0.2))" || rows.row_count() != 2) {
      return expected;
    }
    std::vector<float> other(expected.size());
    double to_expected = 0.0, to_other = 0.0;
    for (std::size_t j = 0; j < expected.size(); ++j) {
      other[j] = static_cast<float>(static_cast<double>(rows[0][j]) + rows[1][j] - expected[j]);
      to_expected += std::abs(static_cast<double>(expected[j]) - actual[j]);
      to_other += std::abs(static_cast<double>(other[j]) - actual[j]);
    }
    return to_other < to_expected ? other : expected;
  }

  const RulePointer rule_ = parse_rule(GetParam()).value();
  std::shared_ptr<const kernels::Backend> cuda_;
  const std::shared_ptr<const kernels::Backend> reference_ = kernels::make_reference_backend();
};

double largest(const kernels::TestTable& rows) {
  double scale = 0.0;
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    for (const float x : rows[i]) scale = std::max(scale, std::abs(static_cast<double>(x)));
  }
  return scale;
}

TEST_P(GpuRules, AgreeWithTheReference) {
  Workspace on_cuda, on_host;
  std::uint64_t seed = 1;
  for (const auto& [rows_count, dim] :
       {std::pair{1u, 3u}, {2u, 33u}, {5u, 1u}, {9u, 1000u}, {17u, 257u}, {32u, 70u}, {41u, 50u}}) {
    for (const Filling filling :
         {Filling::kNormal, Filling::kOutlier, Filling::kHuge, Filling::kEqual, Filling::kTiny}) {
      for (const Weighting weighting : {Weighting::kSmallCounts, Weighting::kFractions}) {
        SCOPED_TRACE(testing::Message() << rows_count << " x " << dim << ", filling "
                                        << static_cast<int>(filling) << ", seed " << seed);
        kernels::TestTable rows = kernels::make_table(filling, rows_count, dim, seed);
        const auto weights = kernels::make_weights(weighting, rows_count, seed++);
        std::vector<float> expected(dim), actual(dim), repeated(dim);
        const auto on_reference =
            aggregate(*rule_, rows.view(), weights, expected, *reference_, on_host);
        if (!on_reference) continue;  // too many rows for this rule
        ASSERT_TRUE(aggregate(*rule_, rows.view(), weights, actual, *cuda_, on_cuda).has_value());
        ASSERT_TRUE(aggregate(*rule_, rows.view(), weights, repeated, *cuda_, on_cuda).has_value());
        ASSERT_EQ(actual, repeated);
        expect_equal(untied(rows, expected, actual), actual, largest(rows));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(GpuRules, FollowAServersTable) {
  constexpr std::size_t kRows = 11, kDim = 300;
  kernels::TestTable rows = kernels::make_table(Filling::kNormal, kRows, kDim, 6);
  RowTable on_cuda(parse_rule(GetParam()).value(), cuda_, kRows, kDim);
  RowTable on_host(parse_rule(GetParam()).value(), reference_, kRows, kDim);
  Rng rng(6);
  // The total is odd, so that no rows hold exactly half of it: between two equal halves every point
  // is a geometric median, and the last digit of a product decides (nnm makes such halves).
  std::vector<double> counts(kRows, 0.0);
  counts[0] = 1.0;
  for (std::size_t step = 0; step < 60; ++step) {
    const std::size_t row = step < kRows ? step : rng.below(kRows);
    const double noise = step < 40 ? 0.6 : 0.01;
    for (float& x : rows[row]) x = static_cast<float>(x + noise * rng.normal());
    counts[row] += 2.0;
    ASSERT_TRUE(on_cuda.put(row, rows[row], counts[row]).has_value());
    ASSERT_TRUE(on_host.put(row, rows[row], counts[row]).has_value());
    const auto expected = on_host.aggregate(step), actual = on_cuda.aggregate(step);
    ASSERT_EQ(expected.has_value(), actual.has_value());
    if (!expected) continue;
    expect_equal(kernels::values_of(**expected), kernels::values_of(**actual), largest(rows));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, GpuRules, testing::ValuesIn(kRules), [](const auto& rule) {
  std::string name = rule.param;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace ballast::robust
