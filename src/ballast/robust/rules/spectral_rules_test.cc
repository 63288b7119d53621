// smea, caf and dnc against their definitions, written down plainly, by hand, and against hostile
// values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "ballast/robust/row_table.h"
#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"
#include "ballast/robust/rules/scatter.h"
#include "ballast/robust/rules/spectral_twins_for_test.h"

namespace ballast::robust {
namespace {

constexpr double kRounding = 2e-5;
constexpr double kLambdas[] = {0.0, 0.1, 0.2, 0.25, 0.3, 1.0 / 3.0, 0.4, 0.49};
constexpr double kFloatMax = std::numeric_limits<float>::max();

// Normal rows, every third time with one far out, and rows full of ties.
template <typename Check>
void for_each_case(std::uint64_t seeds, Check&& check) {
  for (std::uint64_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const bool is_tied = seed % 3 == 0;
    Case given = is_tied ? draw_tied(rng, 7) : draw_normal(1 + seed % 8, 1 + seed % 5, seed);
    if (seed % 3 == 1) {
      for (double& value : given.rows[seed % given.rows.size()]) value *= 1024.0;
    }
    const double lambda = kLambdas[rng.below(std::size(kLambdas))];
    SCOPED_TRACE(testing::Message() << "seed " << seed << " lambda " << lambda << " "
                                    << testing::PrintToString(given));
    check(given, lambda, is_tied);
  }
}

double tolerance(const Case& given) {
  return kRounding * (1.0 + brute_force::scale_of(given.rows));
}

Gram gram_of(const Table& rows, Vector& products) {
  products.clear();
  for (const Vector& left : rows) {
    for (const Vector& right : rows) {
      products.push_back(std::inner_product(left.begin(), left.end(), right.begin(), 0.0));
    }
  }
  return {products, rows.size()};
}

TEST(Scatter, HasTheEigenvaluesOfTheCovarianceMatrix) {
  for_each_case(300, [](const Case& given, double, bool) {
    Workspace workspace;
    Vector products;
    const Gram gram = gram_of(given.rows, products);
    Scatter scatter(given.rows.size(), workspace);
    scatter.assign(gram, given.weights);
    Vector scores(given.rows.size());
    const double found = scatter.largest(scores);
    const double expected = brute_force::largest_eigenvalue(given.rows, given.weights);
    const double scale = std::pow(1.0 + brute_force::scale_of(given.rows), 2.0);
    EXPECT_NEAR(found, expected, 1e-9 * scale);
    EXPECT_TRUE(scatter.is_below(expected + 1e-6 * scale));
    EXPECT_FALSE(scatter.is_below(expected - 1e-6 * scale));
    const Vector twin = brute_force::widest_scores(given.rows, given.weights);
    for (std::size_t i = 0; expected > 1e-6 && i < twin.size(); ++i) {
      EXPECT_NEAR(scores[i], twin[i], 1e-6 * scale) << i;
    }
  });
}

// The corners of a square spread alike in all directions: the score is the whole squared distance.
TEST(Scatter, CountsDirectionsOfEqualSpreadTogether) {
  const Table square = {{1.0, 1.0}, {1.0, -1.0}, {-1.0, 1.0}, {-1.0, -1.0}};
  Workspace workspace;
  Vector products;
  const Gram gram = gram_of(square, products);
  Scatter scatter(4, workspace);
  scatter.assign(gram, Vector(4, 1.0));
  Vector scores(4);
  EXPECT_NEAR(scatter.largest(scores), 4.0, 1e-12);
  for (const double score : scores) EXPECT_NEAR(score, 2.0, 1e-12);
}

TEST(Scatter, IgnoresRowsWithoutAPart) {
  const Table rows = {{0.0}, {2.0}, {1e30}};
  Workspace workspace;
  Vector products;
  const Gram gram = gram_of(rows, products);
  Scatter scatter(3, workspace);
  scatter.assign(gram, Vector{1.0, 1.0, 0.0});
  Vector scores(3, 7.0);
  EXPECT_NEAR(scatter.largest(scores), 2.0, 1e-12);
  EXPECT_NEAR(scores[0], 1.0, 1e-12);
  EXPECT_NEAR(scores[1], 1.0, 1e-12);
  EXPECT_EQ(scores[2], 0.0);
}

TEST(SpectralRules, SmeaFindsTheBestOfAllSets) {
  for_each_case(400, [](const Case& given, double lambda, bool is_tied) {
    const Outcome found = outcome(*make_smea(lambda), given.rows, given.weights);
    unsigned set = 0;
    for (std::size_t i = 0; i < given.rows.size(); ++i) {
      ASSERT_TRUE(found.report.kept[i] == 0.0 || found.report.kept[i] == 1.0);
      if (found.report.kept[i] == 1.0) set |= 1u << i;
    }
    const brute_force::SmeaSet best = brute_force::smea(given.rows, given.weights, lambda);
    EXPECT_GE(brute_force::weight_of(given.weights, set),
              (1.0 - lambda) * brute_force::sum(given.weights) - 1e-9);
    const double scale = std::pow(brute_force::scale_of(given.rows), 2.0);
    EXPECT_LE(brute_force::scatter_value(given.rows, given.weights, set),
              best.value * (1.0 + 1e-8) + 1e-9 * scale);
    expect_near(found.result, brute_force::mean_of_set(given.rows, given.weights, set),
                tolerance(given));
    if (!is_tied && given.rows.front().size() > 1) {
      EXPECT_EQ(set, best.set);
    }
  });
}

// The original, for equal weights: of all sets of m - f rows the one whose covariance has the
// smallest largest eigenvalue.
TEST(SpectralRules, SmeaOfEqualWeightsIsTheOriginal) {
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    const std::size_t m = 3 + seed % 7, f = seed % ((m + 1) / 2);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << f << " of " << m);
    const Case given = draw_normal(m, 2 + seed % 4, seed, kernels::Weighting::kEqual);
    double smallest = std::numeric_limits<double>::infinity();
    Vector expected;
    for (unsigned set = 1; set < 1u << m; ++set) {
      if (brute_force::members(set).size() != m - f) continue;
      const double value =
          brute_force::scatter_value(given.rows, given.weights, set) / double(m - f);
      if (value >= smallest) continue;
      smallest = value;
      expected = brute_force::mean_of_set(given.rows, given.weights, set);
    }
    expect_near(applied(*make_smea(double(f) / double(m)), given.rows, given.weights), expected,
                kRounding);
  }
}

TEST(SpectralRules, SmeaRefusesMoreRowsThanItCanSearch) {
  const RulePointer smea = rule("smea(0.2)");
  EXPECT_TRUE(smea->check_row_count(kSmeaRowsMax).has_value());
  const Status refused = smea->check_row_count(kSmeaRowsMax + 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("takes at most 20 rows, not 21"));
}

TEST(SpectralRules, CafFollowsItsDefinition) {
  for_each_case(600, [](const Case& given, double lambda, bool is_tied) {
    // Where eigenvalues of two rounds are equal but for rounding either mean is right.
    if (is_tied && given.rows.front().size() > 1) return;
    expect_near(applied(*make_caf(lambda), given.rows, given.weights),
                brute_force::caf(given.rows, given.weights, lambda), tolerance(given));
  });
}

TEST(SpectralRules, DncKeepsTheSmallestScores) {
  for_each_case(600, [](const Case& given, double lambda, bool) {
    expect_near(applied(*make_dnc({.lambda = lambda}), given.rows, given.weights),
                brute_force::dnc(given.rows, given.weights, lambda), tolerance(given));
  });
}

// The original draws coordinates, filters by each draw, and averages what all draws kept.
TEST(SpectralRules, DncOfDrawnCoordinatesKeepsWhatAllDrawsKeep) {
  constexpr std::size_t kDim = 9, kCoordinates = 4, kIterations = 3;
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case given = draw_normal(4 + seed % 6, kDim, seed);
    Vector kept = given.weights, mean_kept(kept.size(), 0.0);
    for (std::uint32_t k = 0; k < kIterations; ++k) {
      std::vector<std::size_t> order(kDim);
      std::iota(order.begin(), order.end(), std::size_t{0});
      Rng rng(RngKey{.seed = 5, .purpose = 0x646e6363, .owner = k, .step = seed});
      for (std::size_t j = 0; j < kCoordinates; ++j) {
        std::swap(order[j], order[j + rng.below(kDim - j)]);
      }
      Table cut;
      for (const Vector& row : given.rows) {
        cut.emplace_back();
        for (std::size_t j = 0; j < kCoordinates; ++j) cut.back().push_back(row[order[j]]);
      }
      const Vector taken = brute_force::dnc_kept(cut, given.weights, 1.5 * 0.2);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        kept[i] = std::min(kept[i], taken[i]);
        mean_kept[i] += taken[i];
      }
    }
    if (brute_force::sum(kept) < 1e-9) kept = mean_kept;
    expect_near(applied("dnc(0.2, iterations=3, coordinates=4, filter=1.5, seed=5)", given.rows,
                        given.weights, seed),
                brute_force::mean(given.rows, kept), kRounding);
  }
}

// Five times all but one of two rows are left over, not always the same one.
TEST(SpectralRules, DncFallsBackOnTheMeanWhereIterationsHaveNothingInCommon) {
  const Table rows = {{1.0, 0.0, 0.0, 1.0}, {0.0, 1.0, 1.0, 0.0}, {0.0, 0.0, 4.0, 4.0}};
  const char* text = "dnc(0.49, iterations=40, coordinates=1, filter=2)";
  const Outcome found = outcome(*rule(text), rows, Vector(3, 1.0));
  double kept = 0.0;
  for (const double fraction : found.report.kept) kept += fraction;
  EXPECT_NEAR(kept, 3.0 * (1.0 - 0.98), 1e-9);  // of three rows, on average
  for (const double value : found.result) EXPECT_TRUE(std::isfinite(value));
}

TEST(SpectralRules, DncDrawsAnewAtEachCallAndRepeats) {
  const Case given = draw_normal(9, 40, 3);
  const char* text = "dnc(0.4, coordinates=2)";
  const Vector first = applied(text, given.rows, given.weights, 1);
  EXPECT_EQ(applied(text, given.rows, given.weights, 1), first);
  EXPECT_NE(applied(text, given.rows, given.weights, 2), first);
  EXPECT_NE(applied("dnc(0.4, coordinates=2, seed=1)", given.rows, given.weights, 1), first);
}

// On a line the widest direction is the line. 0, 1, 2, 3 and 100 with equal weights: mean 21.2.
//   dnc(0.2) leaves out 100, the farthest from 21.2.
//   smea(0.2): the four of smallest scatter are 0..3.
//   caf(0.2): scores 449.44, 408.04, 368.64, 331.24 and 6209.44; 100 loses its factor, the others
//   keep 0.92762, 0.93429, 0.94063 and 0.94666, in all 3.7492 > 3: their mean 1.5085 has variance
//   1.2498. The next scores 2.2755, 0.2585, 0.2416, 2.2247 take 0 and nearly 3 away, and leave
//   less than 3: done.
TEST(SpectralRules, ByHand) {
  const Table rows = {{0.0}, {1.0}, {2.0}, {3.0}, {100.0}};
  const Vector ones(5, 1.0);
  EXPECT_EQ(applied("dnc(0.2)", rows, ones), Vector{1.5});
  EXPECT_EQ(applied("smea(0.2)", rows, ones), Vector{1.5});
  const Outcome filtered = outcome(*rule("caf(0.2)"), rows, ones);
  EXPECT_NEAR(filtered.result[0], 1.50846, 1e-5);
  EXPECT_NEAR(filtered.report.kept[0], 0.92762, 1e-5);
  EXPECT_EQ(filtered.report.kept[4], 0.0);
  for (const char* text : {"dnc(0)", "smea(0)", "caf(0)"}) {
    EXPECT_FLOAT_EQ(static_cast<float>(applied(text, rows, ones)[0]), 21.2f) << text;
  }
}

// Of weights 1, 2, 2, 2 and 1, 8 in all, smea(0.25) must hold 6: without 100, whose scatter is
// enormous, 7 are left, and without 0 as well 6. Heavy rows go in whole or not at all.
TEST(SpectralRules, SmeaTakesWholeRows) {
  const Table rows = {{0.0}, {1.0}, {2.0}, {3.0}, {100.0}};
  const Outcome found = outcome(*rule("smea(0.25)"), rows, {1.0, 2.0, 2.0, 2.0, 1.0});
  EXPECT_EQ(found.result, Vector{2.0});
  EXPECT_EQ(found.report.kept, (Vector{0.0, 1.0, 1.0, 1.0, 0.0}));
}

// Not so for smea, which takes whole rows: of two copies it may take one.
TEST(SpectralRules, AHeavierRowIsAsManyRows) {
  for (const char* text : {"caf(0.3)", "dnc(0.3)", "dnc(0.1, iterations=2, coordinates=2)"}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(testing::Message() << text << " seed " << seed);
      Case given = draw_normal(2 + seed % 8, 3, seed, kernels::Weighting::kSmallCounts);
      Case copies;
      for (std::size_t i = 0; i < given.rows.size(); ++i) {
        const std::size_t count = 1 + (seed + i) % 3;
        given.weights[i] = static_cast<double>(count);
        copies.rows.insert(copies.rows.end(), count, given.rows[i]);
      }
      copies.weights.assign(copies.rows.size(), 1.0);
      expect_near(applied(text, copies.rows, copies.weights),
                  applied(text, given.rows, given.weights), kRounding);
    }
  }
}

constexpr const char* kSpectralRules[] = {"smea(0.3)",
                                          "caf(0.3)",
                                          "dnc(0.3)",
                                          "dnc(0.2, iterations=3, coordinates=7)",
                                          "nnm(caf(0.2), 0.2)",
                                          "ctma(smea(0.2), 0.2)",
                                          "bucketing(dnc(0.2), 2)",
                                          "unweighted(caf(0.2))"};

// A far row that lies, or several together below the share, is left out whatever it says.
TEST(SpectralRules, LeaveOutRowsThatLieFarAway) {
  for (const char* text : {"smea(0.3)", "caf(0.3)", "dnc(0.3)"}) {
    for (const double far : {1e3, 1e9, 1e18, 1e30}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(testing::Message() << text << " seed " << seed << " at " << far);
        Case given = draw_normal(10, 4, seed, kernels::Weighting::kEqual);
        const std::size_t liars = 1 + seed % 2;
        for (std::size_t i = 0; i < liars; ++i) given.rows[(seed + i) % 10] = Vector(4, far);
        const Outcome found = outcome(*rule(text), given.rows, given.weights);
        for (std::size_t i = 0; i < liars; ++i) EXPECT_EQ(found.report.kept[(seed + i) % 10], 0.0);
        EXPECT_LE(brute_force::scale_of({found.result}), 5.0);
      }
    }
  }
}

// caf once more, since its rows are not just kept or left out: what far rows leave behind is as
// accurate as if they had never come.
TEST(SpectralRules, CafIsAccurateBesideFarRows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Case near = draw_normal(10, 4, seed, kernels::Weighting::kEqual), far = near;
    near.rows[seed % 10] = Vector(4, 1e6);
    far.rows[seed % 10] = Vector(4, 1e30);
    expect_near(applied("caf(0.3)", far.rows, far.weights),
                applied("caf(0.3)", near.rows, near.weights), 1e-4);
  }
}

TEST(SpectralRules, ReadTheirOwnTextBack) {
  for (const char* text : kSpectralRules) {
    EXPECT_EQ(rule(rule(text)->text())->text(), rule(text)->text());
  }
}

TEST(SpectralRules, HostileValuesGiveFiniteResults) {
  for (const char* text : kSpectralRules) {
    const RulePointer the_rule = rule(text);
    Table rows(9, Vector(40, kFloatMax));
    for (std::size_t i = 0; i < 4; ++i) rows[i].assign(40, -kFloatMax);
    for (const double value : applied(*the_rule, rows, Vector(9, 1.0))) {
      ASSERT_TRUE(std::isfinite(value)) << text;
    }
    const Table equal(9, Vector(40, kFloatMax));
    EXPECT_EQ(applied(*the_rule, equal, Vector(9, 1.0)), equal[0]) << text;
    const Table tiny(9, Vector(40, std::numeric_limits<float>::denorm_min()));
    EXPECT_EQ(applied(*the_rule, tiny, Vector(9, 1.0)), tiny[0]) << text;
  }
}

TEST(SpectralRules, RefuseWhatIsNotFinite) {
  for (const char* text : {"smea(0.3)", "caf(0.3)", "dnc(0.3)"}) {
    for (const float bad : {NAN, INFINITY}) {
      const std::vector<std::vector<float>> rows = {{1.0f, 2.0f}, {bad, 0.0f}};
      const auto refused = aggregate(text, rows, Vector{1.0, 1.0});
      ASSERT_FALSE(refused.has_value());
      EXPECT_THAT(refused.error().message, testing::HasSubstr("row 1 holds a NaN"));
    }
  }
}

// All rows of a simplex are alike, so that nothing can be pruned by being worse: the search must
// end by seeing that nothing is better.
TEST(SpectralRules, SmeaEndsSoonWhereAllSetsAreAlike) {
  Table simplex(kSmeaRowsMax, Vector(kSmeaRowsMax, 0.0));
  for (std::size_t i = 0; i < kSmeaRowsMax; ++i) simplex[i][i] = 1.0;
  const Outcome found = outcome(*rule("smea(0.45)"), simplex, Vector(kSmeaRowsMax, 1.0));
  EXPECT_EQ(brute_force::sum(found.report.kept), 11.0);
}

TEST(SpectralRules, ATableThatReplacesRowsAgrees) {
  for (const char* text : kSpectralRules) {
    if (std::string_view(text).starts_with("bucketing")) continue;
    expect_table_agrees(text, kRounding);
  }
}

}  // namespace
}  // namespace ballast::robust
