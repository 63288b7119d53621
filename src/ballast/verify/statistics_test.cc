#include "ballast/verify/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ballast::verify {
namespace {

TEST(Statistics, SlopeOfAPowerIsItsExponent) {
  const std::vector<double> x = {1.0, 3.0, 10.0, 50.0};
  std::vector<double> y;
  for (const double value : x) y.push_back(7.0 * std::pow(value, -0.75));

  EXPECT_NEAR(log_slope(x, y), -0.75, 1e-12);
}

TEST(Statistics, SlopeOfWhatHasNoLogarithmIsNotANumber) {
  EXPECT_TRUE(std::isnan(log_slope(std::vector{1.0, 2.0}, std::vector{1.0, 0.0})));
}

// By hand: deviation sqrt(2.5), four degrees of freedom.
TEST(Statistics, MeanHasStudentsInterval) {
  const Estimate mean = mean_of(std::vector<double>{1.0, 2.0, 3.0, 4.0, 5.0});

  EXPECT_DOUBLE_EQ(mean.value, 3.0);
  EXPECT_NEAR(mean.high - mean.value, 2.776 * std::sqrt(2.5 / 5.0), 1e-12);
  EXPECT_NEAR(mean.value - mean.low, 2.776 * std::sqrt(2.5 / 5.0), 1e-12);
}

TEST(Statistics, GroupsAreAveragedBeforeTheyAreEvaluated) {
  const std::vector<std::vector<double>> samples = {{1.0}, {3.0}, {5.0}, {7.0}};

  const Estimate squares =
      over_groups(samples, 2, [](std::span<const double> mean) { return mean[0] * mean[0]; });

  EXPECT_DOUBLE_EQ(squares.value, (4.0 + 36.0) / 2.0);  // the groups' means are 2 and 6
}

TEST(Statistics, PointwiseMeanKeepsTheOrderOfPoints) {
  const std::vector<std::vector<double>> samples = {{1.0, 10.0}, {3.0, 30.0}};

  EXPECT_EQ(pointwise_mean(samples), (std::vector<double>{2.0, 20.0}));
}

}  // namespace
}  // namespace ballast::verify
