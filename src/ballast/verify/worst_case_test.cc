// The search must find what can be worked out on paper.

#include "ballast/verify/worst_case.h"

#include <gtest/gtest.h>

#include "ballast/robust/registry.h"
#include "ballast/verify/theory.h"

namespace ballast::verify {
namespace {

// Medians: the honest rows at 0 and the liars hold half, the others are at 1. Then the mean of the
// honest rows is 1 - a, where a = (1/2 - lambda) / (1 - lambda), and c = (1 - a) / a.
TEST(WorstCase, ReachesTheKnownConstantOfMedians) {
  RuleBench bench;
  for (const double lambda : {0.05, 0.2, 0.4}) {
    for (const char* text : {"gm", "cwmed"}) {
      SCOPED_TRACE(lambda);
      const auto rule = robust::parse_rule(text).value();
      const double found = worst_pull(*rule, AdversaryKind::kSearch,
                                      {.lambda = lambda, .starts = 10, .steps = 400}, bench)
                               .value();
      EXPECT_GE(found, 0.99 / (1.0 - 2.0 * lambda));
      EXPECT_LE(found, median_constant(lambda));
    }
  }
}

// Trimming: honest rows at 1 weigh what is cut, liars at -1 stay: c = 4 lambda / (1 - 2 lambda).
TEST(WorstCase, ReachesTheKnownConstantOfTrimming) {
  RuleBench bench;
  for (const double lambda : {0.05, 0.2}) {
    SCOPED_TRACE(lambda);
    const auto rule = robust::parse_rule("ctma(gm, " + std::to_string(lambda) + ")").value();
    const double found = worst_pull(*rule, AdversaryKind::kSearch,
                                    {.lambda = lambda, .starts = 10, .steps = 400}, bench)
                             .value();
    EXPECT_GE(found, 0.97 * 4.0 * lambda / (1.0 - 2.0 * lambda));
  }
}

// At a share of 0.4 no table that we know of pulls ctma as far as the search does.
TEST(WorstCase, SearchGoesBeyondWhatWasConstructed) {
  RuleBench bench;
  const auto rule = robust::parse_rule("ctma(gm, 0.4)").value();
  const WorstCaseOptions options{.lambda = 0.4, .starts = 10, .steps = 400};

  const double found = worst_pull(*rule, AdversaryKind::kSearch, options, bench).value();
  const double constructed =
      worst_pull(*rule, AdversaryKind::kConstruction, options, bench).value();

  EXPECT_NEAR(constructed, 8.0, 0.01);
  EXPECT_GT(found, 1.2 * constructed);
}

TEST(WorstCase, MeanHasNoConstant) {
  RuleBench bench;
  const auto rule = robust::parse_rule("mean").value();

  EXPECT_GT(worst_pull(*rule, AdversaryKind::kFar, {.lambda = 0.1}, bench).value(), 1e6);
}

// Two honest rows 0 and 2 of equal weight: mean 1, rho = 1. Liars of a third of all weight at 0
// make 0 the median.
TEST(WorstCase, PullIsTheSquaredErrorOverTheSpread) {
  RuleBench bench;
  const auto rule = robust::parse_rule("cwmed").value();
  const AttackedTable table{.honest = {.rows = {{0.0}, {2.0}}, .weights = {1.0, 1.0}},
                            .liars = {{0.0}}};

  EXPECT_DOUBLE_EQ(pull(*rule, table, 1.0 / 3.0, bench).value(), 1.0);
}

}  // namespace
}  // namespace ballast::verify
