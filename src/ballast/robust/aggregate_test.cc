#include "ballast/robust/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ballast/base/flush_denormals_for_test.h"
#include "ballast/kernels/device_for_test.h"
#include "ballast/kernels/table_for_test.h"
#include "ballast/robust/registry.h"

namespace ballast::robust {
namespace {

using testing::HasSubstr;

class AggregateTest : public testing::Test {
 protected:
  AggregateTest() : table_(3, 2), out_(2, kUntouched) {
    for (std::size_t i = 0; i < 3; ++i) table_[i] = {static_cast<float>(i), 1.0f};
  }

  // Expects an error that says so, and an output that nobody wrote to.
  void expect_refused(const Result<Report>& report, const char* message) {
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(report.error().message, HasSubstr(message));
    for (const float value : out_) EXPECT_EQ(value, kUntouched);
  }

  Result<Report> call(std::string_view text = "mean") {
    return aggregate(**parse_rule(text), table_.view(), weights_, out_, *backend_, workspace_);
  }

  static constexpr float kUntouched = -77.0f;
  const std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend(1);
  kernels::TestTable table_;
  std::vector<double> weights_ = {1.0, 1.0, 2.0};
  std::vector<float> out_;
  Workspace workspace_;
};

TEST_F(AggregateTest, WritesTheResultAndReports) {
  const auto report = call();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(out_, (std::vector<float>{1.25f, 1.0f}));
  EXPECT_EQ(report->kept, (std::vector<double>{1.0, 1.0, 1.0}));
}

TEST_F(AggregateTest, RefusesNoRows) {
  table_ = kernels::TestTable(0, 2);
  weights_.clear();
  expect_refused(call(), "nothing to aggregate");
}

TEST_F(AggregateTest, RefusesRowsWithoutValues) {
  table_ = kernels::TestTable(3, 0);
  out_.clear();
  expect_refused(call(), "nothing to aggregate");
}

TEST_F(AggregateTest, RefusesAnotherNumberOfWeights) {
  weights_ = {1.0, 2.0};
  expect_refused(call(), "3 rows but 2 weights");
}

TEST_F(AggregateTest, RefusesAnOutputOfAnotherSize) {
  out_.assign(3, kUntouched);
  expect_refused(call(), "the rows have 2 values but the output has room for 3");
}

TEST_F(AggregateTest, RefusesWeightsThatAreNotPositiveAndFinite) {
  for (const double weight : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    weights_[1] = weight;
    expect_refused(call(), "weight");
  }
}

TEST_F(AggregateTest, RefusesRowsThatAreNotFiniteAndNamesTheFirst) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    table_[1][1] = table_[2][0] = value;
    expect_refused(call(), "row 1 holds a NaN or an infinity");
  }
}

TEST_F(AggregateTest, RefusesMoreRowsThanTheRuleTakes) {
  table_ = kernels::TestTable(33, 2);
  weights_.assign(33, 1.0);
  for (const char* text : {"mda(0.3)", "ctma(mda(0.3), 0.2)", "nnm(mda(0.3), 0.2)",
                           "unweighted(mda(0.3))", "bucketing(mda(0.3), 1)"}) {
    expect_refused(call(text), "mda searches exactly and takes at most 32 rows, not 33");
  }
  EXPECT_TRUE(call("bucketing(mda(0.3), 2)").has_value()) << "17 buckets are not too many";
}

TEST_F(AggregateTest, GivesTheSameForTheSameDraw) {
  table_ = kernels::make_table(kernels::Filling::kNormal, 9, 2, 1);
  weights_.assign(9, 1.0);
  const auto rule = parse_rule("bucketing(cwmed, 3)");
  const auto result = [&](std::uint64_t draw) {
    EXPECT_TRUE(
        aggregate(**rule, table_.view(), weights_, out_, *backend_, workspace_, {.draw = draw}));
    return out_;
  };
  const auto first = result(4);
  EXPECT_NE(result(5), first);
  EXPECT_EQ(result(4), first);
}

// The caller's memory is used in place where the backend can, and is filled where it cannot; one
// workspace serves both by turns.
TEST_F(AggregateTest, GivesTheSameOnADevice) {
  table_ = kernels::make_table(kernels::Filling::kNormal, 9, 40, 1);
  weights_.assign(9, 1.0);
  weights_[3] = 2.5;
  out_.resize(40);
  const auto reference = kernels::make_reference_backend();
  const kernels::DeviceBackend device;
  for (const char* text : {"mean", "cwmed", "cwtm(0.2)", "ctma(cwmed, 0.3)", "nnm(cwmed, 0.2)",
                           "gm", "bucketing(ctma(cwmed, 0.2), 2)"}) {
    SCOPED_TRACE(text);
    const auto rule = parse_rule(text);
    ASSERT_TRUE(aggregate(**rule, table_.view(), weights_, out_, *reference, workspace_));
    const std::vector<float> expected = out_;
    std::ranges::fill(out_, 0.0f);
    ASSERT_TRUE(aggregate(**rule, table_.view(), weights_, out_, device, workspace_));
    EXPECT_EQ(out_, expected);
  }
  EXPECT_EQ(device.traffic().values_read, 7 * 40u) << "the result of each rule and nothing else";
}

// Values that a thread which flushes denormals would take for zero, or would make zero.
TEST(Denormals, AreKeptWhateverTheThreadIsSetTo) {
  const std::vector<std::vector<float>> rows = {
      {1e-40f, 3e-38f, -2e-39f}, {3e-40f, 2e-38f, -1e-39f}, {5e-40f, 1e-38f, 7e-39f}};
  const std::vector<double> weights = {1.0, 2.0, 1.5};
  for (const char* rule : {"mean", "cwmed", "gm", "ctma(gm, 0.3)", "cwtm(0.2)"}) {
    const auto expected = aggregate(rule, rows, weights).value();
    EXPECT_NE(expected.values[0], 0.0f) << rule;
    const FlushDenormals flushing;
    const auto found = aggregate(rule, rows, weights).value();
    const IeeeArithmetic ieee;  // for the comparison
    EXPECT_EQ(found.values, expected.values) << rule;
  }
}

TEST(CheckFinite, TakesWhatIsFinite) {
  auto table = kernels::make_table(kernels::Filling::kHuge, 3, 100, 1);
  const auto backend = kernels::make_cpu_backend(1);
  const auto shown = backend->make_table(100);
  shown->borrow(table.view());
  EXPECT_TRUE(check_finite(*shown, *backend));
  table[2][99] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(check_finite(*shown, *backend));
}

}  // namespace
}  // namespace ballast::robust
