#include "ballast/robust/solver/gram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ballast/robust/rows/fresh_rows.h"
#include "ballast/robust/rules/rule_for_test.h"

namespace ballast::robust {
namespace {

// The products of the rows relative to the centre, in plain double precision.
std::vector<double> products_of(const Table& rows, const Vector& centre) {
  std::vector<double> products;
  for (const Vector& a : rows) {
    for (const Vector& b : rows) {
      double product = 0.0;
      for (std::size_t j = 0; j < a.size(); ++j) product += (a[j] - centre[j]) * (b[j] - centre[j]);
      products.push_back(product);
    }
  }
  return products;
}

kernels::Weights exact(const Vector& weights) { return *kernels::Weights::make(weights); }

TEST(Gram, MeasuresDistancesWhateverTheCentre) {
  const Case given = draw_normal(6, 4, 1);
  const Vector point = {0.5, 0.25, 0.125, 0.25, -0.25, 0.125};  // adds up to 1
  const Vector where = brute_force::mean(given.rows, point);
  for (const double offset : {0.0, 1.0, -30.0}) {
    const auto products = products_of(given.rows, Vector(4, offset));
    const Gram gram(products, 6);
    std::vector<double> distances(6);
    gram.squared_distances(point, distances);
    for (std::size_t i = 0; i < 6; ++i) {
      const double expected = brute_force::distance(given.rows[i], where);
      EXPECT_NEAR(distances[i], expected * expected, 1e-11);
      for (std::size_t j = 0; j < 6; ++j) {
        const double apart = brute_force::distance(given.rows[i], given.rows[j]);
        EXPECT_NEAR(gram.squared_distance(i, j), apart * apart, 1e-11);
        EXPECT_EQ(gram.squared_distance(i, j), gram.squared_distance(j, i));
      }
    }
  }
}

TEST(Gram, MeasuresDifferencesOfPoints) {
  const Case given = draw_normal(3, 4, 2);
  const auto products = products_of(given.rows, Vector(4, 0.0));
  const double apart = brute_force::distance(given.rows[0], given.rows[2]);
  Vector along(3);
  EXPECT_NEAR(Gram(products, 3).squared_norm(Vector{1.0, 0.0, -1.0}, along), apart * apart, 1e-12);
}

TEST(Gram, NeverCallsADistanceNegative) {
  const auto products = products_of({{1.0 / 3.0, 0.1}, {1.0 / 3.0, 0.1}}, {1e8, 1e8});
  const Gram gram(products, 2);
  std::vector<double> distances(2);
  gram.squared_distances(Vector{0.3, 0.7}, distances);
  for (const double distance : distances) EXPECT_GE(distance, 0.0);
  EXPECT_GE(gram.squared_distance(0, 1), 0.0);
  EXPECT_GE(gram.squared_norm(Vector{1.0, -1.0}, distances), 0.0);
}

// Going from the centre to (3, 4) brings one 3 nearer to a row so far along the first axis that its
// distances from the two are equal as doubles.
TEST(Gram, SeesGainsThatDistancesRoundAway) {
  constexpr double kFar = 1e20;
  const auto products = products_of({{3.0, 4.0}, {kFar, 0.0}}, {0.0, 0.0});
  const Gram gram(products, 2);
  std::vector<double> gains(2);
  gram.squared_gains(Vector{1.0, 0.0}, gains, gains);
  EXPECT_NEAR(gram.gain(1, gains[1]), -3.0, 1e-12);
  EXPECT_NEAR(gram.gain(0, gains[0]), -5.0, 1e-12);
}

TEST(Gram, FindsItsCoreAmongTheHalfThatAgrees) {
  const Table rows = {{100.0}, {0.0}, {0.5}, {-0.5}, {-300.0}};
  const auto products = products_of(rows, {0.0});
  const Gram gram(products, 5);
  std::vector<double> scratch(15);

  const auto equal = gram.core(exact(Vector(5, 1.0)), scratch);
  EXPECT_EQ(equal.row, 1u);
  EXPECT_EQ(equal.squared_radius, 0.25);

  const auto heavy = gram.core(exact({1.0, 1.0, 1.0, 1.0, 9.0}), scratch);
  EXPECT_EQ(heavy.row, 4u);
  EXPECT_EQ(heavy.squared_radius, 299.5 * 299.5) << "of its nearest neighbour";

  EXPECT_EQ(Gram(products, 1).core(exact({2.0}), scratch).squared_radius, INFINITY);
}

TEST(Gram, KnowsWhenItIsPoorlyCentred) {
  const Table rows = {{0.0}, {1.0}, {2.0}, {1e9}};  // the last one is no reason to move
  const auto weights = exact(Vector(4, 1.0));
  std::vector<double> scratch(12);
  for (const auto& [centre, is_well] : {std::pair{0.0, true}, std::pair{100.0, true},
                                        std::pair{1e5, false}, std::pair{1e9, false}}) {
    const auto products = products_of(rows, {centre});
    const Gram gram(products, 4);
    EXPECT_EQ(gram.is_well_centred(gram.core(weights, scratch), weights, scratch), is_well)
        << centre;
  }
}

// Two clusters at all distances from the centre, from tight to wide and with any share of the
// weight: whoever is sure is right, and where the rows are as far apart as from the centre one is
// sure.
TEST(Gram, IsSurelyWellCentredOnlyWhereItIs) {
  constexpr std::size_t kRows = 24;
  Rng rng(5);
  std::size_t sure = 0, well = 0;
  std::vector<double> scratch(3 * kRows);
  for (int trial = 0; trial < 2000; ++trial) {
    const double offset = std::pow(10.0, rng.uniform() * 6.0 - 1.0);
    const double width = std::pow(10.0, -3.0 * rng.uniform());
    const std::size_t apart = rng.below(kRows);
    Table rows;
    Vector counts;
    for (std::size_t i = 0; i < kRows; ++i) {
      rows.push_back({offset + (i < apart ? width : 1.0) * rng.normal(), rng.normal() * width});
      counts.push_back(1.0 + static_cast<double>(rng.below(trial % 3 == 0 ? 40 : 2)));
    }
    const auto products = products_of(rows, {0.0, 0.0});
    const Gram gram(products, kRows);
    const kernels::Weights weights = exact(counts);
    const bool is_sure = gram.is_surely_well_centred(weights, scratch);
    const bool is_well = gram.is_well_centred(gram.core(weights, scratch), weights, scratch);
    ASSERT_TRUE(is_well || !is_sure) << "trial " << trial;
    sure += is_sure ? 1 : 0;
    well += is_well ? 1 : 0;
  }
  EXPECT_GT(sure, well * 3 / 4);
  EXPECT_LT(well, 1900u) << "the trials show nothing";
  EXPECT_GT(well, 300u);
  const auto single = products_of({{1.0, 0.0}, {0.0, 1.0}}, {0.0, 0.0});
  EXPECT_FALSE(Gram(single, 2).is_surely_well_centred(exact({3.0, 1.0}), scratch))
      << "a row that holds half is left to the core";
}

TEST(ComputeGram, CentresRowsThatShareAnOffset) {
  Case given = draw_normal(5, 8, 3);
  kernels::TestTable table(5, 8);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      table[i][j] = static_cast<float>(1e6 + given.rows[i][j]);
      given.rows[i][j] = table[i][j];
    }
  }
  Workspace workspace;
  std::vector<double> products(25);
  const auto backend = kernels::make_cpu_backend(1);
  const std::size_t centre = compute_gram(workspace.show(*backend, table.view()), *backend,
                                          exact(given.weights), nullptr, workspace, products);

  ASSERT_LT(centre, 5u) << "the origin is too far away";
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      const double apart = brute_force::distance(given.rows[i], given.rows[j]);
      EXPECT_NEAR(Gram(products, 5).squared_distance(i, j), apart * apart, 1e-9);
    }
  }
}

}  // namespace
}  // namespace ballast::robust
