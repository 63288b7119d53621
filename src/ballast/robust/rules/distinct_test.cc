// distinct against its definition, written down plainly, by hand, and what it promises.

#include <gtest/gtest.h>

#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

constexpr double kRatios[] = {0.0, 0.2, 0.3, 0.45, 0.49};

// The smallest value that half of the weight does not exceed.
double lower_median(const Vector& values, const Vector& weights) {
  double reached = 0.0;
  for (const std::size_t i : brute_force::sorted_by(values)) {
    reached += weights[i];
    if (2.0 * reached >= brute_force::sum(weights)) return values[i];
  }
  return values.back();
}

// The weights that the definition leaves; empty where a distance is so near to the limit that
// rounding decides.
Vector shared_weights(const Case& given, double ratio) {
  Table distances;
  Vector medians;
  for (const Vector& left : given.rows) {
    distances.emplace_back();
    for (const Vector& right : given.rows) {
      distances.back().push_back(brute_force::distance(left, right));
    }
    medians.push_back(lower_median(distances.back(), given.weights));
  }
  const double limit = ratio * lower_median(medians, given.weights);
  Vector shared;
  for (std::size_t i = 0; i < given.rows.size(); ++i) {
    double sum = 0.0, heaviest = 0.0;
    for (std::size_t j = 0; j < given.rows.size(); ++j) {
      if (j != i && std::abs(distances[i][j] - limit) < 1e-6 * (1.0 + limit)) return {};
      if (j != i && distances[i][j] > limit) continue;
      sum += given.weights[j];
      heaviest = std::max(heaviest, given.weights[j]);
    }
    shared.push_back(given.weights[i] * heaviest / sum);
  }
  return shared;
}

TEST(Distinct, IsItsDefinition) {
  std::size_t shared_count = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    Case given =
        seed % 2 == 0 ? draw_tied(rng, 9) : draw_normal(2 + seed % 8, 1 + rng.below(5), seed);
    const double ratio = kRatios[rng.below(std::size(kRatios))];
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << " ratio " << ratio << " " << testing::PrintToString(given));
    const Vector weights = shared_weights(given, ratio);
    if (weights.empty()) continue;
    ++compared;
    shared_count += weights != given.weights ? 1 : 0;
    const Outcome found = outcome(*make_distinct(make_mean(), ratio), given.rows, given.weights);
    expect_near(found.result, brute_force::mean(given.rows, weights), 2e-5);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(found.report.kept[i] * given.weights[i], weights[i], 1e-9) << i;
    }
  }
  EXPECT_GE(compared, 250u);
  EXPECT_GE(shared_count, 50u);
}

// Medians of the distances: 20, 10, 10, 10, 10.5; so S = 10, and only the last two are near.
TEST(Distinct, IsWorkedOutByHand) {
  const Outcome found = outcome(*rule("distinct(mean, 0.4)"),
                                {{0.0}, {10.0}, {20.0}, {30.0}, {30.5}}, Vector(5, 1.0));
  expect_near(found.result, {(0.0 + 10.0 + 20.0 + 15.0 + 15.25) / 4.0}, 1e-5);
  EXPECT_EQ(found.report.kept, (Vector{1.0, 1.0, 1.0, 0.5, 0.5}));
}

TEST(Distinct, OfDistinctRowsIsTheBaseToTheBit) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case given = draw_normal(9, 200, seed);
    for (const char* base : {"mean", "cwmed", "gm", "ctma(gm, 0.4)", "cwtm(0.2)"}) {
      EXPECT_EQ(applied("distinct(" + std::string(base) + ")", given.rows, given.weights),
                applied(base, given.rows, given.weights))
          << seed << " " << base;
    }
  }
}

// However many liars copy a row, it counts once; and copies that are lighter take nothing from it.
TEST(Distinct, CopiesOfARowWeighWhatTheHeaviestWeighs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Case given = draw_normal(9, 100, seed);
    const Vector expected = applied("gm", given.rows, given.weights);
    const std::size_t target = seed % given.rows.size();
    for (int copy = 0; copy < 6; ++copy) {
      given.rows.push_back(given.rows[target]);
      given.weights.push_back(given.weights[target] / 8.0);
    }
    expect_near(applied("distinct(gm)", given.rows, given.weights), expected, 1e-4);
  }
}

// Liars with less than half of the weight, wherever they are, do not make honest rows share.
TEST(Distinct, FarLiarsDoNotMakeHonestRowsNear) {
  for (const double far : {3.0, 1e3, 1e9}) {
    Case given = draw_normal(9, 100, 1);
    given.weights.assign(9, 1.0);
    for (int liar = 0; liar < 8; ++liar) {
      Vector row = draw_normal(1, 100, 50 + static_cast<std::uint64_t>(liar)).rows[0];
      for (double& value : row) value = static_cast<float>(value * far);
      given.rows.push_back(row);
      given.weights.push_back(1.0);
    }
    const Outcome found = outcome(*rule("distinct(mean, 0.49)"), given.rows, given.weights);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(found.report.kept[i], 1.0) << far << " " << i;
  }
}

TEST(Distinct, ATableAgrees) {
  expect_table_agrees("distinct(ctma(gm, 0.3))", 2e-5);
  expect_table_agrees("distinct(cwmed, 0.3)", 2e-5);
}

}  // namespace
}  // namespace ballast::robust
