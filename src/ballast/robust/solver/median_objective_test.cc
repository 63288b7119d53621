// The Newton step of many rows against the plain one by Cholesky's factorisation, and the medians
// that it leads to against the slow minimiser.

#include "ballast/robust/solver/median_objective.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ballast/robust/rules/brute_force_gm_for_test.h"
#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

std::vector<double> products_of(const Table& rows) {
  std::vector<double> products;
  for (const Vector& a : rows) {
    for (const Vector& b : rows) {
      double product = 0.0;
      for (std::size_t j = 0; j < a.size(); ++j) product += a[j] * b[j];
      products.push_back(product);
    }
  }
  return products;
}

Vector point_of(const Table& rows, std::span<const double> coefficients) {
  Vector point(rows.front().size(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < point.size(); ++j) point[j] += coefficients[i] * rows[i][j];
  }
  return point;
}

TEST(MedianObjective, FindsTheSameNewtonStepInBothWays) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t m = 3 + 2 * seed, dim = seed % 3 == 0 ? 300 : 2 + seed % 9;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << m << " x " << dim);
    const Case given = draw_normal(m, dim, seed, kernels::Weighting::kSmallCounts);
    const auto products = products_of(given.rows);
    const Gram gram(products, m);
    const auto weights = *kernels::Weights::make(given.weights);
    Workspace workspace;
    MedianObjective objective(gram, weights, workspace);
    const Vector mean(m, 1.0 / static_cast<double>(m));
    std::vector<double> matrix(m * m), direct(m), iterated(m);

    objective.look_from(mean);
    ASSERT_TRUE(objective.solve_directly(matrix));
    objective.newton_step(mean, 1.0, direct);
    ASSERT_TRUE(objective.solve_by_conjugate_gradients(1e-12));
    objective.newton_step(mean, 1.0, iterated);
    expect_near(point_of(given.rows, iterated), point_of(given.rows, direct), 1e-8);
  }
}

TEST(MedianObjective, StepsThatAreStoppedEarlyStillDescend) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::size_t m = 70 + seed;
    const Case given = draw_normal(m, 1 + seed % 12, seed, kernels::Weighting::kSquares);
    const auto products = products_of(given.rows);
    const Gram gram(products, m);
    const auto weights = *kernels::Weights::make(given.weights);
    Workspace workspace;
    MedianObjective objective(gram, weights, workspace);
    const Vector mean(m, 1.0 / static_cast<double>(m));
    std::vector<double> next(m);
    objective.look_from(mean);
    const double before = objective.value();
    ASSERT_TRUE(objective.find_newton_step());
    objective.newton_step(mean, 0.25, next);
    objective.look_from(next);
    EXPECT_LT(objective.value(), before);
  }
}

// More rows than are solved directly: spread and tied, in few and in many dimensions, with rows far
// away, and with most of the weight on few rows.
TEST(MedianObjective, LeadsToTheMedianOfManyRows) {
  constexpr std::size_t kRows[] = {65, 70, 100, 150};
  for (std::uint64_t seed = 0; seed < 48 && !testing::Test::HasFailure(); ++seed) {
    const std::size_t m = kRows[seed % 4], dim = seed % 5 == 0 ? 80 : 1 + seed % 7;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << m << " x " << dim);
    const auto weighting = kernels::kWeightings[seed % std::size(kernels::kWeightings)];
    Case given = draw_normal(m, dim, seed, weighting);
    if (seed % 3 == 1) {
      for (Vector& row : given.rows) {
        for (double& value : row) value = std::round(value);
      }
    }
    if (seed % 3 == 2) {
      for (double& value : given.rows[m / 2]) value *= 1e6;
    }
    const Vector slow = brute_force::geometric_median(given.rows, given.weights, 1e-8);
    const double smallest = brute_force::objective(given.rows, given.weights, slow);
    const double rounding = 1e-7 * smallest;  // of the result to floats
    const auto result = outcome(*make_gm(), given.rows, given.weights);
    EXPECT_LE(brute_force::objective(given.rows, given.weights, result.result),
              smallest * (1.0 + 1e-6) + rounding);
    EXPECT_LE(result.report.iterations, 30u);
  }
}

}  // namespace
}  // namespace ballast::robust
