// The fast loops against plain ones, bit for bit: every instruction set adds in the same order.

#include "ballast/robust/solver/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/robust/solver/gram.h"

namespace ballast::robust {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 3, 4, 5, 8, 17, 33, 64, 65, 131};

std::vector<double> draw(std::size_t count, Rng& rng) {
  std::vector<double> values(count);
  for (double& value : values) value = rng.normal();
  return values;
}

std::vector<double> draw_symmetric(std::size_t n, Rng& rng) {
  std::vector<double> matrix = draw(n * n, rng);
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + i] = static_cast<double>(n) + rng.normal();
    for (std::size_t j = 0; j < i; ++j) matrix[i * n + j] = matrix[j * n + i];
  }
  return matrix;
}

TEST(Dense, MultipliesInTheOrderOfThePlainLoop) {
  for (const std::size_t n : kSizes) {
    SCOPED_TRACE(testing::Message() << "seed and size " << n);
    Rng rng(n);
    const auto matrix = draw_symmetric(n, rng), vector = draw(n, rng);
    std::vector<double> out(n, 7.0);
    multiply_symmetric(matrix, vector, out);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) sum += vector[j] * matrix[i * n + j];
      EXPECT_EQ(out[i], sum);
    }
  }
}

TEST(Dense, MeasuresDistancesAndWeightsAsThePlainLoop) {
  for (const std::size_t n : kSizes) {
    SCOPED_TRACE(testing::Message() << "seed and size " << n);
    Rng rng(n);
    const auto matrix = draw_symmetric(n, rng);
    const Gram gram(matrix, n);
    std::vector<double> norms(n), distances(n);
    std::vector<std::uint64_t> units(n);
    for (std::size_t i = 0; i < n; ++i) {
      norms[i] = gram.product(i, i);
      units[i] = rng.below(std::uint64_t{1} << 40);
    }
    const std::size_t row = n / 2;
    const auto products = std::span(matrix).subspan(row * n, n);
    distances_from_row(products, norms, row, distances);
    std::uint64_t below = 0;
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_EQ(distances[j], gram.squared_distance(row, j));
      if (distances[j] < distances[0]) below += units[j];
    }
    EXPECT_EQ(weight_near_row(products, norms, row, units, distances[0]), below);
  }
}

TEST(Dense, AddsGainsAsThePlainLoop) {
  for (const std::size_t n : kSizes) {
    SCOPED_TRACE(testing::Message() << "seed and size " << n);
    Rng rng(n);
    auto matrix = draw_symmetric(n, rng);
    if (n > 4) {  // a row at the centre, and one far away
      for (std::size_t j = 0; j < n; ++j) matrix[3 * n + j] = matrix[j * n + 3] = 0.0;
      matrix[4 * n + 4] = 1e40;
    }
    const Gram gram(matrix, n);
    const kernels::Weights weights = kernels::Weights::equal(n);
    std::vector<double> scratch(n), objectives(n);
    gram.objectives_of_rows(weights, scratch, objectives);
    for (std::size_t k = 0; k < n; ++k) {
      double expected = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double squared_gain = gram.product(k, k) - 2.0 * gram.product(i, k);
        expected += weights.share(i) * gram.gain(i, squared_gain);
      }
      EXPECT_EQ(objectives[k], expected);
    }
  }
}

}  // namespace
}  // namespace ballast::robust
