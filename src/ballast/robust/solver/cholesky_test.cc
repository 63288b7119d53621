#include "ballast/robust/solver/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ballast/base/rng.h"

namespace ballast::robust {
namespace {

// B B^T + I for a random B: symmetric and safely positive definite.
std::vector<double> draw_positive_definite(std::size_t n, Rng& rng) {
  std::vector<double> b(n * n), matrix(n * n);
  for (double& value : b) value = rng.normal();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      matrix[i * n + j] = i == j ? 1.0 : 0.0;
      for (std::size_t k = 0; k < n; ++k) matrix[i * n + j] += b[i * n + k] * b[j * n + k];
    }
  }
  return matrix;
}

TEST(Cholesky, SolvesWhatItIsGiven) {
  for (std::size_t n = 1; n <= 40; ++n) {
    SCOPED_TRACE(testing::Message() << "seed and size " << n);
    Rng rng(n);
    const std::vector<double> matrix = draw_positive_definite(n, rng);
    std::vector<double> x(n), right(n, 0.0), scratch = matrix;
    for (double& value : x) value = rng.normal();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) right[i] += matrix[i * n + j] * x[j];
    }
    ASSERT_TRUE(solve_positive_definite(scratch, right, 1e-12));
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(right[i], x[i], 1e-9);
  }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  const auto is_solved = [](std::vector<double> matrix, double pivot_min) {
    std::vector<double> right = {1.0, 1.0};
    return solve_positive_definite(matrix, right, pivot_min);
  };
  EXPECT_TRUE(is_solved({2.0, 1.0, 1.0, 2.0}, 0.0));
  EXPECT_FALSE(is_solved({0.0, 0.0, 0.0, 1.0}, 0.0));
  EXPECT_FALSE(is_solved({1.0, 2.0, 2.0, 1.0}, 0.0)) << "indefinite";
  EXPECT_FALSE(is_solved({1.0, 1.0, 1.0, 1.0}, 0.0)) << "singular";
  EXPECT_FALSE(is_solved({2.0, 1.0, 1.0, 2.0}, 1.5)) << "the second pivot is exactly 1.5";
  EXPECT_FALSE(is_solved({NAN, 1.0, 1.0, 2.0}, 0.0));
}

}  // namespace
}  // namespace ballast::robust
