#include "ballast/robust/rules/trimming.h"

#include <gtest/gtest.h>

#include <vector>

namespace ballast::robust {
namespace {

std::vector<double> kept(const std::vector<double>& distances, const std::vector<double>& weights,
                         double share) {
  Workspace workspace;
  std::vector<double> result(distances.size(), -1.0);
  keep_nearest(distances, *kernels::Weights::make(weights), share, workspace, result);
  return result;
}

using Fractions = std::vector<double>;

TEST(KeepNearest, SplitsTheLastRow) {
  EXPECT_EQ(kept({3.0, 1.0, 2.0}, {1.0, 1.0, 2.0}, 0.5), (Fractions{0.0, 1.0, 0.5}));
}

TEST(KeepNearest, KeepsEverythingOfAFullShare) {
  EXPECT_EQ(kept({3.0, 1.0, 2.0}, {7.0, 1.0, 2.0}, 1.0), (Fractions{1.0, 1.0, 1.0}));
}

TEST(KeepNearest, BreaksTiesByRowNumber) {
  EXPECT_EQ(kept({1.0, 1.0, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0}, 0.5), (Fractions{1.0, 1.0, 0.0, 0.0}));
}

// 1 - 0.4 and 0.6 differ in the last bit; nobody means a row of weight 1e-17.
TEST(KeepNearest, IsNotMisledByDecimals) {
  for (std::size_t f = 0; f < 50; ++f) {
    const double lambda = static_cast<double>(f) / 100.0;
    std::vector<double> distances(100);
    for (std::size_t i = 0; i < 100; ++i) distances[i] = static_cast<double>(i);
    const Fractions result = kept(distances, std::vector<double>(100, 1.0), 1.0 - lambda);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(result[i], i < 100 - f ? 1.0 : 0.0) << lambda;
  }
}

TEST(KeepNearest, MayKeepAPartOfTheFirstRowAlone) {
  EXPECT_EQ(kept({0.0, 5.0}, {3.0, 1.0}, 0.375), (Fractions{0.5, 0.0}));
}

TEST(KeptMean, WeighsWhatWasKept) {
  const auto weights = *kernels::Weights::make(std::vector<double>{1.0, 2.0, 4.0});
  std::vector<double> coefficients(3);
  kept_mean(Fractions{1.0, 0.5, 0.5}, weights, coefficients);
  EXPECT_EQ(coefficients, (Fractions{0.25, 0.25, 0.5}));
}

}  // namespace
}  // namespace ballast::robust
