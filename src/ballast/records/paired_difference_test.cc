#include "ballast/records/paired_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ballast::records {
namespace {

// From printed tables.
TEST(StudentQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062047, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.3026527, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 9), 2.2621572, 1e-6);
  EXPECT_NEAR(student_quantile(0.95, 4), 2.1318468, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 1e6), 1.9599664, 1e-4);
  EXPECT_NEAR(student_quantile(0.5, 3), 0.0, 1e-9);
  EXPECT_NEAR(student_quantile(0.025, 9), -2.2621572, 1e-6);
}

// With one degree of freedom it is Cauchy's, with two it has a closed form.
TEST(StudentQuantile, MeetsItsClosedForms) {
  for (const double p : {0.6, 0.75, 0.9, 0.99, 0.9999}) {
    const double cauchy = std::tan(M_PI * (p - 0.5));
    const double two = (2 * p - 1) * std::sqrt(2.0 / (4 * p * (1 - p)));
    EXPECT_NEAR(student_quantile(p, 1) / cauchy, 1.0, 1e-8) << p;
    EXPECT_NEAR(student_quantile(p, 2) / two, 1.0, 1e-8) << p;
  }
}

TEST(PairedDifference, IsTheMeanWithStudentsInterval) {
  const PairedDifference d = paired_difference(std::vector{1.0, 2.0, 3.0});
  EXPECT_EQ(d.pairs, 3u);
  EXPECT_DOUBLE_EQ(d.mean, 2.0);
  EXPECT_NEAR(d.low, 2.0 - 4.3026527 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(d.high, 2.0 + 4.3026527 / std::sqrt(3.0), 1e-6);
}

TEST(PairedDifference, OfOneSeedTellsNothing) {
  const PairedDifference d = paired_difference(std::vector{40.0});
  EXPECT_EQ(d.mean, 40.0);
  EXPECT_TRUE(std::isinf(d.low) && d.low < 0);
  EXPECT_TRUE(std::isinf(d.high) && d.high > 0);
  EXPECT_EQ(judge_lead(d, 0.0), Finding::kNotDecided);
  EXPECT_EQ(judge_equivalence(d, 1.0), Finding::kNotDecided);
  EXPECT_EQ(judge_lead(paired_difference({}), 0.0), Finding::kNotDecided);
}

constexpr PairedDifference between(double low, double high) {
  return {.pairs = 10, .mean = (low + high) / 2, .low = low, .high = high};
}

TEST(Finding, OfALeadTurnsOnTheWholeInterval) {
  EXPECT_EQ(judge_lead(between(2.0, 3.0), 2.0), Finding::kHolds);
  EXPECT_EQ(judge_lead(between(1.9, 3.0), 2.0), Finding::kNotDecided);
  EXPECT_EQ(judge_lead(between(1.0, 1.9), 2.0), Finding::kFails);
}

TEST(Finding, OfEquivalenceIsTwoSided) {
  EXPECT_EQ(judge_equivalence(between(-0.9, 0.9), 1.0), Finding::kHolds);
  EXPECT_EQ(judge_equivalence(between(-0.5, 1.1), 1.0), Finding::kNotDecided);
  EXPECT_EQ(judge_equivalence(between(-2.0, 2.0), 1.0), Finding::kNotDecided);
  EXPECT_EQ(judge_equivalence(between(1.5, 2.0), 1.0), Finding::kFails) << "better is not on par";
  EXPECT_EQ(judge_equivalence(between(-2.0, -1.5), 1.0), Finding::kFails);
}

TEST(Finding, HasAWord) {
  EXPECT_EQ(to_text(Finding::kHolds), "holds");
  EXPECT_EQ(to_text(Finding::kFails), "fails");
  EXPECT_EQ(to_text(Finding::kNotDecided), "not decided");
}

}  // namespace
}  // namespace ballast::records
