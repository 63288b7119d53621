#include "ballast/experiment/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ballast/experiment/grid.h"

namespace ballast::experiment {
namespace {

std::vector<PaperFigure> all_figures() {
  auto figures = paper_figures("all");
  EXPECT_TRUE(figures.has_value()) << (figures ? "" : figures.error().message);
  return figures ? *figures : std::vector<PaperFigure>();
}

// Panels x curves x seeds: panels as in the captions, at two shares; curves with both medians and
// ours; three seeds of CIFAR-10, which takes long, and ten of MNIST.
TEST(Figures, HaveTheRunsOfThePaper) {
  const std::map<int, std::size_t> expected = {{2, 4 * 7 * 3},  {3, 7 * 7 * 3},  {4, 4 * 16 * 3},
                                               {5, 4 * 7 * 10}, {6, 6 * 7 * 10}, {7, 4 * 16 * 10}};
  std::map<int, std::size_t> counts;
  for (const PaperFigure& figure : all_figures()) {
    const auto plan = expand(figure.spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    counts[figure.number] = plan->size();
  }

  EXPECT_EQ(counts, expected);
}

// A run that occurs twice would be found once when a figure is resumed.
TEST(Figures, RunNothingTwice) {
  for (const PaperFigure& figure : all_figures()) {
    std::set<std::string> fingerprints;
    const auto plan = expand(figure.spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    for (const PlannedRun& planned : *plan) {
      EXPECT_TRUE(fingerprints.insert(fingerprint(planned.run, planned.seed)).second)
          << figure.number << ": " << planned.panel << ": " << planned.curve;
    }
  }
}

TEST(Figures, ComeAtTheShareStatedAndAtTheShareRun) {
  const std::map<double, double> run_for = {{0.4, 1.0 / 3.0}, {0.3, 0.25}};
  for (const PaperFigure& figure : all_figures()) {
    std::set<std::pair<std::string, double>> stated;
    std::set<std::pair<std::string, double>> run;
    const auto plan = expand(figure.spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    for (const PlannedRun& planned : *plan) {
      const double share = planned.stated_share;
      if (planned.run.share == share) {
        if (share != 0.1) stated.insert({planned.run.attack, share});
      } else {
        run.insert({planned.run.attack, share});
        EXPECT_EQ(planned.run.share, run_for.at(share)) << planned.panel;
      }
    }
    EXPECT_EQ(stated, run) << figure.number;
    EXPECT_FALSE(stated.empty());
  }
}

TEST(Figures, TellCtmaTheShareOfTheRun) {
  const auto figures = paper_figures("6");
  ASSERT_TRUE(figures.has_value());
  const auto plan = expand(figures->at(0).spec);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;

  std::multiset<std::string> rules;
  for (const PlannedRun& planned : *plan) {
    const bool is_meant = planned.run.attack == "little" && planned.run.share == 0.3;
    if (is_meant && planned.seed == 1) rules.insert(planned.run.rule);
  }

  EXPECT_THAT(rules,
              testing::UnorderedElementsAre("gm", "ctma(gm, 0.3)", "gm(iterations=3, start=zero)",
                                            "ctma(gm(iterations=3, start=zero), 0.3)", "cwmed",
                                            "ctma(cwmed, 0.3)", "distinct(ctma(gm, 0.3), 0.3)"));
}

TEST(Figures, HaveOneRecommendedCurveInEveryPanelWithTheSameSetting) {
  for (const PaperFigure& figure : all_figures()) {
    const auto plan = expand(figure.spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    std::map<std::string, std::size_t> curves;
    for (const PlannedRun& planned : *plan) {
      if (planned.seed != 1) continue;
      curves[planned.panel];
      if (!planned.curve.starts_with("recommended")) continue;
      ++curves[planned.panel];
      EXPECT_EQ(planned.run.weights, "f-cap");  // its defaults: (1, 0.2)
      EXPECT_EQ(planned.run.optimizer, assembly::Optimizer::kMu2);
      EXPECT_EQ(planned.run.rule.find("distinct(ctma(gm, "), 0u);
    }
    for (const auto& [panel, count] : curves) EXPECT_EQ(count, 1u) << figure.number << panel;
  }
}

TEST(Figures, AllMakeClaims) {
  for (const PaperFigure& figure : all_figures()) {
    EXPECT_GE(figure.spec.claims.size(), 2u) << figure.number;
  }
}

TEST(Figures, QuickOnesHaveOneSeedAndTheSameLengthForAllCurves) {
  for (PaperFigure& figure : all_figures()) {
    make_quick(figure.spec);

    const auto plan = expand(figure.spec);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    std::set<std::pair<std::uint64_t, std::uint64_t>> lengths;
    for (const PlannedRun& planned : *plan) {
      EXPECT_EQ(planned.seed, 1u);
      lengths.insert({planned.run.updates, planned.run.evaluate_every});
    }
    ASSERT_EQ(lengths.size(), 1u);
    EXPECT_LT(lengths.begin()->first, 3750u);
    EXPECT_EQ(lengths.begin()->first % lengths.begin()->second, 0u);
  }
}

TEST(Figures, ComeInTheOrderOfThePaperAndOnce) {
  std::vector<int> numbers;
  const auto figures = paper_figures("7,5,7");
  ASSERT_TRUE(figures.has_value()) << figures.error().message;
  for (const PaperFigure& figure : *figures) numbers.push_back(figure.number);
  EXPECT_EQ(numbers, (std::vector{5, 7}));
}

TEST(Figures, RefuseOtherNumbers) {
  for (const std::string_view which : {"1", "8", "", "02", "two", "5,", ",5", "5 6", "5,9"}) {
    const auto figures = paper_figures(which);
    ASSERT_FALSE(figures.has_value()) << which;
    EXPECT_THAT(figures.error().message, testing::HasSubstr("from 2 to 7, as in 5,6, or all"));
  }
}

TEST(Figures, TheDemonstrationComparesThreeRulesAndTwoWeightPoliciesUnderTwoAttacks) {
  const auto plan = expand(demo_spec().value()).value();
  ASSERT_EQ(plan.size(), 12u);
  EXPECT_EQ(plan.front().run.attack, "sign-flip");
  EXPECT_EQ(plan.back().run.attack, "scaled");
  EXPECT_EQ(plan.back().run.rule, "ctma(gm, 0.2)");
}

}  // namespace
}  // namespace ballast::experiment
