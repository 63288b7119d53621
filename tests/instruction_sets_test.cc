// The rules give the same bits on AVX2 and on AVX-512, from fresh rows and from a table that
// remembers, as ARCHITECTURE.md promises of all rules built on inner products, mixtures and
// medians.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>

#include "ballast/kernels/cpu/target_for_test.h"
#include "ballast/kernels/table_for_test.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"

namespace ballast::robust {
namespace {

struct Case {
  std::size_t rows, dim;
  kernels::Filling filling;
  std::uint64_t seed;
};
constexpr Case kCases[] = {
    {1, 5, kernels::Filling::kNormal, 1},     {2, 33, kernels::Filling::kTied, 2},
    {5, 9001, kernels::Filling::kNormal, 3},  {17, 1000, kernels::Filling::kOutlier, 4},
    {17, 5003, kernels::Filling::kNormal, 5}, {17, 200, kernels::Filling::kMixed, 6},
    {30, 95, kernels::Filling::kTied, 7},     {9, 130, kernels::Filling::kHuge, 8}};

constexpr const char* kRules[] = {"mean",
                                  "cwmed",
                                  "gm",
                                  "ctma(gm, 0.4)",
                                  "ctma(cwmed, 0.3)",
                                  "distinct(ctma(gm, 0.4))",
                                  "nnm(gm, 0.2)",
                                  "nnm(cwmed, 0.2)",
                                  "mda(0.3)",
                                  "caf(0.2)",
                                  "dnc(0.2, iterations=2, coordinates=50)",
                                  "krum(0.2)",
                                  "multikrum(0.2)",
                                  "unweighted(gm)",
                                  "bucketing(cwmed, 2)"};

std::vector<float> from_fresh_rows(const char* text, const Case& one) {
  kernels::TestTable table = make_table(one.filling, one.rows, one.dim, one.seed);
  const auto counts = make_weights(kernels::Weighting::kSmallCounts, one.rows, one.seed);
  std::vector<float> out(one.dim);
  Workspace workspace;
  const auto report = aggregate(**parse_rule(text), table.view(), counts, out,
                                *kernels::make_cpu_backend(2), workspace);
  EXPECT_TRUE(report.has_value());
  return out;
}

// After every row was replaced by one nearby, one at a time with an aggregate between.
std::vector<float> from_a_history(const char* text, const Case& one) {
  kernels::TestTable table = make_table(one.filling, one.rows, one.dim, one.seed);
  RowTable remembering(*parse_rule(text), kernels::make_cpu_backend(1), one.rows, one.dim);
  std::vector<float> out;
  for (std::size_t step = 0; step < 2 * one.rows; ++step) {
    const std::size_t row = step % one.rows;
    if (step >= one.rows) {
      for (float& value : table[row]) value *= 0.99f;
    }
    EXPECT_TRUE(remembering.put(row, table[row], 3.0 + static_cast<double>(step)));
    const auto result = remembering.aggregate(step);
    EXPECT_TRUE(result.has_value());
    out.resize(one.dim);
    (*result)->read(out);
  }
  return out;
}

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]), std::bit_cast<std::uint32_t>(actual[j]))
        << "coordinate " << j << ": " << expected[j] << " and " << actual[j];
  }
}

class InstructionSets : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    constexpr std::int64_t kBoth = HWY_AVX2 | HWY_AVX3;
    if ((hwy::SupportedTargets() & kBoth) != kBoth) {
      GTEST_SKIP() << "this machine does not have both AVX2 and AVX-512";
    }
  }

  // compute() on either instruction set.
  template <typename Compute>
  static void expect_same_on_both(const Compute& compute) {
    for (const Case& one : kCases) {
      SCOPED_TRACE(testing::Message() << one.rows << " x " << one.dim << ", filling "
                                      << static_cast<int>(one.filling) << ", seed " << one.seed);
      std::vector<float> results[2];
      std::size_t chosen[2];
      for (const int k : {0, 1}) {
        const kernels::OnTarget target(k == 0 ? HWY_AVX2 : HWY_AVX3);
        chosen[k] = hwy::GetChosenTarget().GetIndex();
        results[k] = compute(GetParam(), one);
      }
      ASSERT_NE(chosen[0], chosen[1]) << "both ran on the same instruction set";
      expect_same_bits(results[0], results[1]);
    }
  }
};

TEST_P(InstructionSets, GiveTheSameBitsFromFreshRows) { expect_same_on_both(from_fresh_rows); }

TEST_P(InstructionSets, GiveTheSameBitsFromAHistory) { expect_same_on_both(from_a_history); }

INSTANTIATE_TEST_SUITE_P(Rules, InstructionSets, testing::ValuesIn(kRules));

}  // namespace
}  // namespace ballast::robust
