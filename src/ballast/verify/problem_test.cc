// What the problems say about themselves, against what their samples do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "ballast/base/rng.h"
#include "ballast/verify/least_squares.h"
#include "ballast/verify/logistic.h"

namespace ballast::verify {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kSamples = 4000;
using DoubleVector = std::vector<float>;

class ProblemTest : public testing::TestWithParam<std::string> {
 protected:
  ProblemTest() {
    if (GetParam() == "logistic") {
      problem_ = std::make_unique<Logistic>(LogisticOptions{.dim = 6});
    } else {
      LeastSquaresOptions options{
          .dim = 6, .smallest_curvature = 0.2, .model_noise = 0.5, .constant_noise = 0.7};
      if (GetParam() == "tilted") options.tilt = 0.8;
      if (GetParam() == "linear") {
        options = {.dim = 6,
                   .largest_curvature = 0.0,
                   .smallest_curvature = 0.0,
                   .constant_noise = 0.7,
                   .tilt = 0.8,
                   .smoothness = 0.01};
      }
      problem_ = std::make_unique<LeastSquares>(options);
    }
  }

  // A random point of K.
  DoubleVector point(std::uint64_t number) const {
    Rng rng(RngKey{.seed = kSeed, .step = number});
    DoubleVector x = problem_->start();
    for (float& value : x) value += static_cast<float>(rng.normal());
    optim::project<float>(problem_->set(), x);
    return x;
  }

  DoubleVector gradient(const DoubleVector& x, std::uint64_t sample) {
    DoubleVector g(x.size());
    const auto loss = problem_->gradient(x, {.key = {.seed = kSeed, .step = sample}}, g, {});
    EXPECT_TRUE(loss);
    return g;
  }

  std::vector<double> expected(const DoubleVector& x) const {
    std::vector<double> g(x.size());
    problem_->expected_gradient(x, g);
    return g;
  }

  std::unique_ptr<Problem> problem_;
};

TEST_P(ProblemTest, SamplesHaveTheExpectedGradientAndAtMostTheStatedVariance) {
  const DoubleVector x = point(1);
  const std::vector<double> truth = expected(x);
  std::vector<double> mean(x.size());
  double variance = 0.0;
  for (std::uint64_t i = 1; i <= kSamples; ++i) {
    const DoubleVector g = gradient(x, i);
    for (std::size_t j = 0; j < x.size(); ++j) {
      mean[j] += g[j] / double{kSamples};
      variance += std::pow(g[j] - truth[j], 2.0) / double{kSamples};
    }
  }

  const double sigma = problem_->constants().deviation;
  EXPECT_LE(variance, 1.03 * sigma * sigma);  // of so many samples: three deviations
  EXPECT_GE(variance, 0.02 * sigma * sigma);  // and not far less
  for (std::size_t j = 0; j < x.size(); ++j) {
    EXPECT_NEAR(mean[j], truth[j], 5.0 * sigma / std::sqrt(double{kSamples}));
  }
}

TEST_P(ProblemTest, GradientsAreAsSmoothAsStated) {
  const Constants& constants = problem_->constants();
  for (std::uint64_t pair = 0; pair < 20; ++pair) {
    SCOPED_TRACE(pair);
    const DoubleVector x = point(2 * pair), y = point(2 * pair + 1);
    const auto truth_x = expected(x), truth_y = expected(y);
    double distance = 0.0, deviation = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) distance += std::pow(double{x[j]} - y[j], 2.0);
    for (std::uint64_t i = 1; i <= 200; ++i) {
      const DoubleVector g = gradient(x, i), h = gradient(y, i);
      double change = 0.0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        change += std::pow(double{g[j]} - h[j], 2.0);
        deviation += std::pow(g[j] - h[j] - (truth_x[j] - truth_y[j]), 2.0) / 200.0;
      }
      EXPECT_LE(std::sqrt(change), 1.0001 * constants.smoothness * std::sqrt(distance));
    }
    EXPECT_LE(std::sqrt(deviation), 1.0001 * constants.smoothness_deviation * std::sqrt(distance));
    EXPECT_LE(std::sqrt(distance), 1.0001 * constants.diameter);
  }
}

TEST_P(ProblemTest, ExpectedGradientIsTheSlopeOfTheExcess) {
  constexpr float kStep = 1e-3f;
  const DoubleVector x = point(3);
  const std::vector<double> truth = expected(x);
  for (std::size_t j = 0; j < x.size(); ++j) {
    SCOPED_TRACE(j);
    DoubleVector up = x, down = x;
    up[j] += kStep;
    down[j] -= kStep;
    const double width = double{up[j]} - down[j];
    EXPECT_NEAR((problem_->excess(up) - problem_->excess(down)) / width, truth[j], 1e-6);
  }
}

TEST_P(ProblemTest, OptimumIsTheOriginOfTheSet) {
  DoubleVector origin(problem_->dim());
  DoubleVector projected = origin;
  optim::project<float>(problem_->set(), projected);

  EXPECT_EQ(projected, origin);
  EXPECT_EQ(problem_->excess(origin), 0.0);
  double squares = 0.0;
  for (const double value : expected(origin)) squares += value * value;
  EXPECT_DOUBLE_EQ(std::sqrt(squares), problem_->constants().optimum_gradient);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_GT(problem_->excess(point(i)), 0.0);
}

// Lemma B.5.
TEST_P(ProblemTest, GradientIsBoundedByTheExcess) {
  const std::vector<double> last = expected(DoubleVector(problem_->dim()));
  for (std::uint64_t i = 0; i < 20; ++i) {
    const DoubleVector x = point(i);
    const std::vector<double> g = expected(x);
    double squares = 0.0;
    for (std::size_t j = 0; j < g.size(); ++j) squares += std::pow(g[j] - last[j], 2.0);
    EXPECT_LE(squares, 2.0 * problem_->constants().smoothness * problem_->excess(x));
  }
}

// Bounds are compared with it, so it must not be larger than what a method could really do.
TEST_P(ProblemTest, ReachableExcessIsThatOfAPointOfTheSet) {
  double largest = problem_->excess(problem_->start());
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Rng rng(RngKey{.seed = kSeed, .owner = 7, .step = i});
    DoubleVector x(problem_->dim());
    for (float& value : x) value = static_cast<float>(100.0 * rng.normal());
    optim::project<float>(problem_->set(), x);
    largest = std::max(largest, problem_->excess(x));
  }
  EXPECT_LE(problem_->reachable_excess(), 1.1 * largest);
  EXPECT_GT(problem_->reachable_excess(), 0.0);
}

TEST_P(ProblemTest, StartIsInTheSet) {
  DoubleVector projected = problem_->start();
  optim::project<float>(problem_->set(), projected);

  EXPECT_EQ(projected, problem_->start());
}

INSTANTIATE_TEST_SUITE_P(All, ProblemTest,
                         testing::Values("least_squares", "tilted", "linear", "logistic"),
                         [](const auto& named) { return named.param; });

TEST(Logistic, ExcessIsSmoothWhereItsSeriesBegins) {
  const Logistic problem({.dim = 3});
  const DoubleVector inside = {0.9e-4f, 0.0f, 0.0f}, outside = {1.8e-4f, 0.0f, 0.0f};

  EXPECT_NEAR(problem.excess(outside) / problem.excess(inside), 4.0, 1e-3);
}

TEST(LeastSquares, WithoutNoiseEverySampleIsExact) {
  LeastSquares problem({.dim = 3, .smallest_curvature = 0.25});
  DoubleVector g(3);

  ASSERT_TRUE(problem.gradient(DoubleVector{1.0f, 2.0f, 4.0f}, {.key = {.step = 5}}, g, {}));

  EXPECT_EQ(g, (DoubleVector{1.0f, 1.0f, 1.0f}));
}

}  // namespace
}  // namespace ballast::verify
