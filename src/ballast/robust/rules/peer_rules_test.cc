// meamed, cge, monna, cclip, clip and arc against their definitions, written down plainly, and
// against hostile values. They are not in laws_test.cc because most of them know the origin or a
// row's number, so that moving or permuting the rows does change them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ballast/robust/row_table.h"
#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

constexpr double kRounding = 1e-5;
constexpr double kLambdas[] = {0.0, 0.1, 0.2, 0.25, 0.3, 1.0 / 3.0, 0.4, 0.49};

template <typename Check>
void for_each_case(Check&& check) {
  for (std::uint64_t seed = 0; seed < 800 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const Case given =
        seed % 2 == 0 ? draw_tied(rng) : draw_normal(1 + seed % 9, 1 + seed % 6, seed);
    const double lambda = kLambdas[rng.below(std::size(kLambdas))];
    SCOPED_TRACE(testing::Message() << "seed " << seed << " lambda " << lambda << " "
                                    << testing::PrintToString(given));
    check(given, lambda);
  }
}

double norm(const Vector& row) { return brute_force::distance(row, Vector(row.size(), 0.0)); }

Vector norms(const Table& rows) {
  Vector all;
  for (const Vector& row : rows) all.push_back(norm(row));
  return all;
}

Vector scaled(Vector row, double factor) {
  for (double& value : row) value *= factor;
  return row;
}

Table clipped(Table rows, double radius) {
  for (Vector& row : rows) row = scaled(row, std::min(1.0, radius / std::max(norm(row), 1e-300)));
  return rows;
}

// A share of the weight that rounding could put on either side of a row's end decides nothing here:
// the twin takes the same fraction of the last row up to 1e-9.
Vector meamed(const Table& rows, const Vector& weights, double lambda) {
  return brute_force::by_coordinate(
      rows, weights, [&](const Vector& values, const Vector& of_rows) {
        // As a float, like the median that the rule asks for.
        const auto median =
            static_cast<double>(static_cast<float>(brute_force::median(values, of_rows)));
        Vector distances;
        for (const double value : values) distances.push_back(std::abs(value - median));
        const Vector taken = brute_force::take_smallest(distances, of_rows,
                                                        (1.0 - lambda) * brute_force::sum(of_rows));
        double sum = 0.0;
        for (std::size_t i = 0; i < values.size(); ++i) sum += taken[i] * values[i];
        return sum / brute_force::sum(taken);
      });
}

Vector nearest_mean(const Table& rows, const Vector& weights, const Vector& keys, double lambda) {
  return brute_force::mean(
      rows, brute_force::take_smallest(keys, weights, (1.0 - lambda) * brute_force::sum(weights)));
}

Vector cclip(const Table& rows, const Vector& weights, Vector v, double radius, int steps) {
  for (int step = 0; step < steps; ++step) {
    Vector next = v;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double distance = brute_force::distance(rows[i], v);
      const double part =
          weights[i] / brute_force::sum(weights) * (distance > radius ? radius / distance : 1.0);
      for (std::size_t j = 0; j < v.size(); ++j) next[j] += part * (rows[i][j] - v[j]);
    }
    v = next;
  }
  return v;
}

TEST(PeerRules, MeamedIsTheMeanOfTheValuesNearestToTheMedian) {
  for_each_case([](const Case& given, double lambda) {
    expect_near(applied(*make_meamed(lambda), given.rows, given.weights),
                meamed(given.rows, given.weights, lambda),
                kRounding * (1.0 + brute_force::scale_of(given.rows)));
  });
}

// The original, for equal weights, line by line.
Vector bulyan(const Table& rows, std::size_t f) {
  Table left = rows;
  Table chosen;
  while (chosen.size() < rows.size() - 2 * f) {
    Vector scores;
    for (const Vector& row : left) {
      Vector squares;
      for (const Vector& other : left) {
        squares.push_back(std::pow(brute_force::distance(row, other), 2.0));
      }
      std::ranges::sort(squares);  // the first is the row itself
      const std::size_t near = left.size() > f + 2 ? left.size() - f - 2 : 1;
      double score = 0.0;
      for (std::size_t k = 1; k <= near && k < squares.size(); ++k) score += squares[k];
      scores.push_back(score);
    }
    const auto best = std::ranges::min_element(scores) - scores.begin();
    chosen.push_back(left[static_cast<std::size_t>(best)]);
    left.erase(left.begin() + best);
  }
  const double kept = double(rows.size() - 4 * f) / double(chosen.size());
  return meamed(chosen, Vector(chosen.size(), 1.0), 1.0 - kept);
}

TEST(PeerRules, BulyanOfEqualWeightsIsTheOriginal) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    const std::size_t f = seed % 3;
    const std::size_t m = 4 * f + 3 + seed % 4;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << f << " of " << m);
    const Case given = draw_normal(m, 1 + seed % 5, seed, kernels::Weighting::kEqual);
    expect_near(applied(*make_bulyan(double(f) / double(m)), given.rows, given.weights),
                bulyan(given.rows, f), kRounding);
  }
}

// 1, 2, 3, 5.5 and 100 with weights 1, 2, 2, 2 and 1 and lambda = 1/8: W = 8, W/m = 1.6.
// First choice: the nearest rows up to weight 8 - 1 - s - 1.6, which is 4.4 or 3.4.
//   1: 2*1 + 2*4 + 0.4*20.25 = 18.1       2: 1*1 + 2*1 + 0.4*12.25 = 7.9
//   3: 2*1 + 1*4 + 0.4*6.25 = 8.5         5.5: 2*6.25 + 1.4*12.25 = 29.65
// 2 is chosen. Second, with weight 6 left: 2.4 or 1.6.
//   1: 2*4 + 0.4*20.25 = 16.1             3: 1*4 + 0.6*6.25 = 7.75      5.5: 1.6*6.25 = 10
// 3 is chosen. Third, 1.6 for all: 1 has 1.6*20.25, 5.5 has 20.25 + 0.6*8930.25. 1 is chosen, and
// then 5.5, of which 6 - 5 = 1 fits. The median of 1, 2, 2, 3, 3, 5.5 is 2.5, and the nearest
// weight 4 is 2, 2, 3, 3.
TEST(PeerRules, BulyanByHand) {
  const Table rows = {{1.0}, {2.0}, {3.0}, {5.5}, {100.0}};
  const Outcome found = outcome(*make_bulyan(0.125), rows, {1.0, 2.0, 2.0, 2.0, 1.0});
  EXPECT_FLOAT_EQ(static_cast<float>(found.result[0]), 2.5f);
  EXPECT_NEAR(found.report.kept[3], 0.5, 1e-9);
  EXPECT_EQ(found.report.kept[4], 0.0);
}

TEST(PeerRules, CgeIsTheMeanOfTheShortestRows) {
  for_each_case([](const Case& given, double lambda) {
    expect_near(applied(*make_cge(lambda), given.rows, given.weights),
                nearest_mean(given.rows, given.weights, norms(given.rows), lambda),
                kRounding * (1.0 + brute_force::scale_of(given.rows)));
  });
}

TEST(PeerRules, MonnaIsTheMeanOfTheRowsNearestToATrustedOne) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case given = draw_normal(1 + seed % 9, 1 + seed % 6, seed);
    const double lambda = kLambdas[seed % std::size(kLambdas)];
    const std::size_t row = seed % 4;
    const Vector& trusted = given.rows[std::min(row, given.rows.size() - 1)];
    expect_near(applied(*make_monna(lambda, row), given.rows, given.weights),
                nearest_mean(given.rows, given.weights,
                             brute_force::distances_from(trusted, given.rows), lambda),
                kRounding);
  }
}

TEST(PeerRules, CclipMovesByTheMeanOfClippedWays) {
  for_each_case([](const Case& given, double) {
    for (const double radius : {0.1, 1.0, 100.0}) {
      const double rounding = kRounding * (1.0 + brute_force::scale_of(given.rows));
      const Vector from_mean = brute_force::mean(given.rows, given.weights);
      expect_near(applied(*make_cclip(make_mean(), radius, 3), given.rows, given.weights),
                  cclip(given.rows, given.weights, from_mean, radius, 3), rounding);
      const Vector from_median = brute_force::cwmed(given.rows, given.weights);
      for (const int steps : {1, 2, 5}) {
        expect_near(applied(*make_cclip(make_cwmed(), radius, static_cast<std::size_t>(steps)),
                            given.rows, given.weights),
                    cclip(given.rows, given.weights, from_median, radius, steps), rounding);
      }
    }
  });
}

TEST(PeerRules, ClipShortensRowsBeforeItsBase) {
  for_each_case([](const Case& given, double) {
    for (const double radius : {0.5, 2.0, 1000.0}) {
      const Table rows = clipped(given.rows, radius);
      const double rounding = kRounding * (1.0 + brute_force::scale_of(given.rows));
      expect_near(applied(*make_clip(make_mean(), radius), given.rows, given.weights),
                  brute_force::mean(rows, given.weights), rounding);
      expect_near(applied(*make_clip(make_cwtm(0.2), radius), given.rows, given.weights),
                  brute_force::cwtm(rows, given.weights, 0.2), rounding);
    }
  });
}

// The original, for equal weights: the floor(2 f (m - f) / m) longest rows get the length of the
// next.
TEST(PeerRules, ArcShortensAsManyRowsAsTheOriginal) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    const std::size_t m = 1 + seed % 12;
    const std::size_t f = seed % (m + 1) / 3;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << f << " of " << m);
    const Case given = draw_normal(m, 1 + seed % 5, seed, kernels::Weighting::kEqual);
    Vector sorted = norms(given.rows);
    std::ranges::sort(sorted);
    const std::size_t shortened = 2 * f * (m - f) / m;
    const double radius = sorted[m - shortened - 1];
    expect_near(applied(*make_arc(make_mean(), double(f) / double(m)), given.rows, given.weights),
                brute_force::mean(clipped(given.rows, radius), given.weights), kRounding);
  }
}

TEST(PeerRules, EqualWeightsGiveTheOriginals) {
  const Table rows = {{0.0}, {1.0}, {2.0}, {3.0}, {100.0}};
  const Vector ones(5, 1.0);
  EXPECT_EQ(applied("meamed(0.2)", rows, ones), Vector{1.5});  // without 100
  EXPECT_EQ(applied("cge(0.2)", rows, ones), Vector{1.5});
  EXPECT_EQ(applied("monna(0.2)", rows, ones), Vector{1.5});
  EXPECT_EQ(applied("monna(0.2, row=4)", rows, ones), Vector{26.5});
  EXPECT_FLOAT_EQ(float(applied("clip(mean, 2)", rows, ones)[0]), 1.4f);
  // floor(2 * 4 / 5) = 1 row is shortened, to 3.
  EXPECT_FLOAT_EQ(float(applied("arc(mean, 0.2)", rows, ones)[0]), 1.8f);
  // From the median 2, each way at most 1: (-1 - 1 + 0 + 1 + 1) / 5.
  EXPECT_EQ(applied("cclip(cwmed, 1)", rows, ones), Vector{2.0});
}

TEST(PeerRules, AHeavierRowIsAsManyRows) {
  for (const char* text : {"meamed(0.2)", "cge(0.3)", "cclip(mean, 1)", "clip(mean, 1)"}) {
    SCOPED_TRACE(text);
    const Table rows = {{0.5, 1.0}, {1.5, -1.0}, {-4.0, 0.25}};
    Table repeated = rows;
    repeated.push_back(rows[1]);
    expect_near(applied(text, rows, {1.0, 2.0, 1.0}), applied(text, repeated, Vector(4, 1.0)),
                kRounding);
  }
}

constexpr const char* kPeerRules[] = {"bulyan(0.2)",
                                      "meamed(0.3)",
                                      "cge(0.3)",
                                      "monna(0.3)",
                                      "monna(0.3, row=2)",
                                      "cclip(mean, 1)",
                                      "cclip(cwmed, 1, steps=3)",
                                      "clip(mean, 1)",
                                      "clip(cwmed, 1e-20)",
                                      "arc(gm, 0.3)",
                                      "arc(nnm(cwmed, 0.3), 0.3)",
                                      "nnm(cge(0.2), 0.2)",
                                      "bucketing(meamed(0.2), 2)",
                                      "ctma(cclip(gm, 2), 0.2)"};

TEST(PeerRules, ReadTheirOwnTextBack) {
  for (const char* text : kPeerRules)
    EXPECT_EQ(rule(rule(text)->text())->text(), rule(text)->text());
}

// Finite rows of any size give a finite result, and weights may be scaled.
TEST(PeerRules, HostileValuesGiveFiniteResults) {
  for (const char* text : kPeerRules) {
    const RulePointer the_rule = rule(text);
    for (const kernels::Filling filling : kernels::kFillings) {
      for (const std::size_t row_count : {1u, 2u, 5u, 17u}) {
        SCOPED_TRACE(testing::Message()
                     << text << " filling " << static_cast<int>(filling) << " rows " << row_count);
        const auto table = kernels::make_table(filling, row_count, 19, 3);
        Table rows;
        for (std::size_t i = 0; i < row_count; ++i) {
          rows.emplace_back(table[i].begin(), table[i].end());
        }
        const Vector weights =
            kernels::make_weights(kernels::Weighting::kSmallCounts, row_count, 3);
        const Vector result = applied(*the_rule, rows, weights);
        for (const double value : result) ASSERT_TRUE(std::isfinite(value));
        EXPECT_EQ(applied(*the_rule, rows, scaled(weights, 3.0)), result);
      }
    }
    constexpr double kMax = std::numeric_limits<float>::max();
    Table rows(9, Vector(40, kMax));
    for (std::size_t i = 0; i < 4; ++i) rows[i].assign(40, -kMax);
    for (const double value : applied(*the_rule, rows, Vector(9, 1.0))) {
      ASSERT_TRUE(std::isfinite(value)) << text;
    }
  }
}

TEST(PeerRules, ATableThatReplacesRowsAgrees) {
  for (const char* text : kPeerRules) {
    if (std::string_view(text).starts_with("bucketing")) continue;
    expect_table_agrees(text, kRounding);
  }
}

}  // namespace
}  // namespace ballast::robust
