// Laws that follow from the definitions, for every rule and for tables of every kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ballast/robust/rules/brute_force_gm_for_test.h"
#include "ballast/robust/rules/rule_for_test.h"

namespace ballast::robust {
namespace {

constexpr double kFloatMax = std::numeric_limits<float>::max();
constexpr double kFloatUnit = 0x1.0p-23;
// Results of the geometric median are this close to the exact one, relative to the rows' spread.
constexpr double kConverged = 1e-5;

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
                                  "smea(0.3)",
                                  "caf(0.2)",
                                  "dnc(0.2)",
                                  "distinct(gm)",
                                  "distinct(ctma(gm, 0.4), 0.3)",
                                  "nnm(gm, 0.2)",
                                  "nnm(cwmed, 0.2)",
                                  "nnm(ctma(gm, 0.2), 0.2)",
                                  "bucketing(gm, 2)",
                                  "bucketing(cwmed, 3)",
                                  "bucketing(ctma(gm, 0.2), 2)",
                                  "unweighted(cwmed)",
                                  "unweighted(ctma(gm, 0.2))",
                                  "gm(iterations=3)"};

// Calls check(rule, case) for every rule, some seeds and weights, on normal rows.
template <typename Check>
void for_each_rule(Check&& check) {
  for (const char* text : kRules) {
    const RulePointer the_rule = rule(text);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      for (const auto weighting : {kernels::Weighting::kEqual, kernels::Weighting::kSmallCounts,
                                   kernels::Weighting::kSquares}) {
        const Case given = draw_normal(5 + seed % 10, 2 + seed % 6, seed, weighting);
        SCOPED_TRACE(testing::Message()
                     << text << " seed " << seed << " weighting " << static_cast<int>(weighting));
        check(*the_rule, given);
      }
    }
  }
}

Table filled(kernels::Filling filling, std::size_t row_count, std::size_t dim, std::uint64_t seed) {
  const auto table = kernels::make_table(filling, row_count, dim, seed);
  Table rows;
  for (std::size_t i = 0; i < row_count; ++i) rows.emplace_back(table[i].begin(), table[i].end());
  return rows;
}

// Each coordinate lies between the smallest and the largest of the rows, but for one rounding.
void expect_in_range(const Vector& result, const Table& rows) {
  for (std::size_t j = 0; j < result.size(); ++j) {
    double smallest = rows[0][j], largest = rows[0][j], magnitude = 0.0;
    for (const Vector& row : rows) {
      smallest = std::min(smallest, row[j]);
      largest = std::max(largest, row[j]);
      magnitude = std::max(magnitude, std::abs(row[j]));
    }
    const double slack = kFloatUnit * magnitude + std::numeric_limits<float>::denorm_min();
    ASSERT_GE(result[j], smallest - slack) << "coordinate " << j;
    ASSERT_LE(result[j], largest + slack) << "coordinate " << j;
  }
}

Vector times(Vector values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

Table each(Table rows, auto&& function) {
  for (Vector& row : rows) {
    for (double& value : row) value = function(value);
  }
  return rows;
}

// Weights that are fractions leave no ties to be broken by row number.
TEST(Laws, PermutingTheRowsChangesNothing) {
  for (const char* text : kRules) {
    if (std::string_view(text).starts_with("bucketing")) continue;  // draws by row number
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << text << " seed " << seed);
      Case given = draw_normal(5 + seed % 10, 2 + seed % 6, seed, kernels::Weighting::kFractions);
      const Vector before = applied(text, given.rows, given.weights);
      std::rotate(given.rows.begin(), given.rows.begin() + 2, given.rows.end());
      std::rotate(given.weights.begin(), given.weights.begin() + 2, given.weights.end());
      expect_near(applied(text, given.rows, given.weights), before, kConverged);
    }
  }
}

TEST(Laws, ScalingAllWeightsChangesNotOneBit) {
  for_each_rule([](const Rule& rule, const Case& given) {
    const Vector before = applied(rule, given.rows, given.weights);
    for (const double factor : {3.0, 0x1.0p-20}) {
      EXPECT_EQ(applied(rule, given.rows, times(given.weights, factor)), before) << factor;
    }
  });
}

// Not so for krum and multikrum, whose scores know the number of rows, for smea, which may take one
// of two copies, nor for rules that draw or forget the weights.
TEST(Laws, DuplicatingARowEqualsDoublingItsWeight) {
  for (const char* text : {"mean", "cwmed", "cwtm(0.2)", "gm", "ctma(gm, 0.4)", "ctma(cwmed, 0.3)",
                           "ctma(cwtm(0.1), 0.2)", "mda(0.3)", "caf(0.2)", "dnc(0.2)",
                           "nnm(gm, 0.2)", "nnm(cwmed, 0.2)"}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(testing::Message() << text << " seed " << seed);
      const Case given = draw_normal(1 + seed % 9, 3, seed, kernels::Weighting::kFractions);
      const std::size_t row = seed % given.rows.size();
      Case doubled = given, duplicated = given;
      doubled.weights[row] *= 2.0;
      duplicated.rows.push_back(given.rows[row]);
      duplicated.weights.push_back(given.weights[row]);
      expect_near(applied(text, duplicated.rows, duplicated.weights),
                  applied(text, doubled.rows, doubled.weights), kConverged);
    }
  }
}

TEST(Laws, MovingTheRowsMovesTheResult) {
  for_each_rule([](const Rule& rule, const Case& given) {
    // Multiples of 2^-10 up to 2^4 can be moved by 2^6 without rounding.
    const Table rows = each(given.rows, [](double x) { return std::round(x * 1024.0) / 1024.0; });
    const Table moved = each(rows, [](double x) { return x + 64.0; });
    const Vector expected = applied(rule, rows, given.weights);
    expect_near(applied(rule, moved, given.weights),
                each({expected}, [](double x) { return x + 64.0; })[0], 2.0 * kConverged);
  });
}

TEST(Laws, StretchingTheRowsStretchesTheResult) {
  for_each_rule([](const Rule& rule, const Case& given) {
    const Vector before = applied(rule, given.rows, given.weights);
    for (const double factor : {0x1.0p30, 0x1.0p-30, -1.0}) {
      const Table stretched = each(given.rows, [&](double x) { return factor * x; });
      expect_near(times(applied(rule, stretched, given.weights), 1.0 / factor), before, kConverged);
    }
  });
}

TEST(Laws, OneRowIsTheResult) {
  for (const char* text : kRules) {
    for (const kernels::Filling filling : kernels::kFillings) {
      SCOPED_TRACE(testing::Message() << text << " filling " << static_cast<int>(filling));
      const Table rows = filled(filling, 1, 5, 1);
      EXPECT_EQ(applied(text, rows, {2.0}), rows[0]);
    }
  }
}

TEST(Laws, EqualRowsAreTheResult) {
  for (const char* text : kRules) {
    for (const kernels::Filling filling : kernels::kFillings) {
      SCOPED_TRACE(testing::Message() << text << " filling " << static_cast<int>(filling));
      const Table rows(7, filled(filling, 1, 5, 1)[0]);
      EXPECT_EQ(applied(text, rows, {2.0, 1.0, 1.0, 5.0, 3.0, 1.0, 1.0}), rows[0]);
    }
  }
}

TEST(Laws, ZerosStayZeros) {
  for (const char* text : kRules) {
    EXPECT_EQ(applied(text, Table(5, Vector(3, 0.0)), {1, 2, 3, 4, 5}), Vector(3, 0.0)) << text;
  }
}

TEST(Laws, OfTwoRowsTheHeavierWins) {
  const Table rows = {{1.0, 2.0}, {5.0, -2.0}};
  for (const char* text : {"cwmed", "gm", "ctma(gm, 0.25)", "ctma(cwmed, 0.25)", "mda(0.25)",
                           "cwtm(0.25)", "nnm(gm, 0.25)", "smea(0.25)", "dnc(0.25)"}) {
    EXPECT_EQ(applied(text, rows, {1.0, 3.0}), rows[1]) << text;
  }
}

TEST(Laws, OfTwoEqualRowsCwmedIsTheMiddleAndNoRuleLeavesTheSegment) {
  const Table rows = {{1.0, 2.0}, {5.0, -2.0}};
  EXPECT_EQ(applied("cwmed", rows, {1.0, 1.0}), (Vector{3.0, 0.0}));
  for (const char* text : kRules) {
    const Vector result = applied(text, rows, {1.0, 1.0});
    EXPECT_NEAR(result[1], 3.0 - result[0], 1e-6) << text;
    expect_in_range(result, rows);
  }
}

TEST(Laws, NoTableLeadsOutOfTheRangeOfItsRows) {
  for (const char* text : kRules) {
    const RulePointer the_rule = rule(text);
    for (const kernels::Filling filling : kernels::kFillings) {
      for (const kernels::Weighting weighting : kernels::kWeightings) {
        for (const std::size_t row_count : {1u, 2u, 3u, 8u, 17u, 32u}) {
          SCOPED_TRACE(testing::Message()
                       << text << " filling " << static_cast<int>(filling) << " weighting "
                       << static_cast<int>(weighting) << " rows " << row_count);
          if (!the_rule->check_row_count(row_count)) continue;
          const Table rows = filled(filling, row_count, 19, 3);
          const Vector weights = kernels::make_weights(weighting, row_count, 3);
          expect_in_range(applied(*the_rule, rows, weights), rows);
        }
      }
    }
  }
}

TEST(Laws, TheLargestFloatsEverywhereAreNoTrouble) {
  for (const char* text : kRules) {
    SCOPED_TRACE(text);
    Table rows(9, Vector(40, kFloatMax));
    for (std::size_t i = 0; i < 4; ++i) rows[i].assign(40, -kFloatMax);
    expect_in_range(applied(text, rows, Vector(9, 1.0)), rows);
  }
}

TEST(Laws, ARowOfAlmostAllTheWeightDecides) {
  Case given = draw_normal(9, 5, 4);
  std::fill(given.weights.begin(), given.weights.end(), 1.0);
  given.weights[6] = 1e9;
  for (const char* text :
       {"mean", "cwmed", "cwtm(0.2)", "gm", "ctma(gm, 0.4)", "mda(0.3)", "nnm(gm, 0.2)",
        "multikrum(0.2)", "krum(0.2)", "smea(0.3)", "caf(0.2)", "dnc(0.2)"}) {
    SCOPED_TRACE(text);
    expect_near(applied(text, given.rows, given.weights), given.rows[6], 1e-6);
  }
}

// A row at 1e30 pulls at the median with its weight and no more, and costs no accuracy.
TEST(Laws, AFarOutlierLeavesGmAndCtmaAccurate) {
  for (const double far : {1e6, 1e12, 1e30}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " outlier at " << far);
      Case given = draw_normal(10, 4, seed);
      for (double& value : given.rows[seed % 10]) value = static_cast<float>(value * far);
      if (2.0 * given.weights[seed % 10] > brute_force::sum(given.weights)) continue;

      const Vector centre = brute_force::geometric_median(given.rows, given.weights);
      expect_near(applied("gm", given.rows, given.weights), centre, kConverged);
      expect_near(applied("ctma(gm, 0.4)", given.rows, given.weights),
                  brute_force::ctma(given.rows, given.weights, centre, 0.4), kConverged);
      expect_near(applied("ctma(cwmed, 0.4)", given.rows, given.weights),
                  brute_force::ctma(given.rows, given.weights,
                                    brute_force::cwmed(given.rows, given.weights), 0.4),
                  kConverged);
    }
  }
}

// Rows whose differences are tiny against their size: as accurate as the rows themselves are.
TEST(Laws, ACommonOffsetCostsNoMoreThanTheRoundingOfTheResult) {
  for (const double offset : {1e3, 1e6, 1e30}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " offset " << offset);
      Case given = draw_normal(9, 4, seed);
      const double grain = offset * 1e-5;  // the spread of the rows
      given.rows = each(given.rows, [&](double x) {
        return static_cast<double>(static_cast<float>(offset + grain * x));
      });

      const Vector centre = brute_force::geometric_median(given.rows, given.weights);
      const double rounding = 2.0 * kFloatUnit * offset;
      expect_near(applied("gm", given.rows, given.weights), centre, rounding);
      expect_near(applied("ctma(gm, 0.4)", given.rows, given.weights),
                  brute_force::ctma(given.rows, given.weights, centre, 0.4), rounding);
    }
  }
}

TEST(Laws, ReportsHowMuchOfEachRowWasKept) {
  for_each_rule([](const Rule& rule, const Case& given) {
    const Report report = outcome(rule, given.rows, given.weights).report;
    ASSERT_EQ(report.kept.size(), given.rows.size());
    for (const double kept : report.kept) EXPECT_TRUE(kept >= 0.0 && kept <= 1.0) << kept;
  });
}

}  // namespace
}  // namespace ballast::robust
