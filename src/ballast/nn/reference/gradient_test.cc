#include "ballast/nn/reference/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ballast/nn/models.h"
#include "ballast/nn/testing.h"

namespace ballast::nn::reference {
namespace {

using nn::testing::random_batch;
using nn::testing::random_parameters;
using nn::testing::relative_error;
using nn::testing::small_networks;

// At coordinates drawn at random. The step is so small that no ReLU or pool changes sides within
// it.
TEST(ReferenceGradient, EqualsCentralDifferencesOfTheLoss) {
  constexpr double kStep = 1e-7;
  for (const auto& [name, network] : small_networks()) {
    SCOPED_TRACE(name);
    const auto batch = random_batch(network, 3, 11);
    const auto start = random_parameters(network, 5);
    std::vector<double> parameters(start.begin(), start.end());
    std::vector<double> gradient_out(parameters.size()), unused(parameters.size());
    gradient(network, parameters, batch.view(), gradient_out, {});

    std::vector<double> derivatives, differences;
    Rng rng(3);
    for (int probe = 0; probe < 100; ++probe) {
      const std::size_t i = rng.below(parameters.size());
      const double middle = parameters[i];
      parameters[i] = middle + kStep;
      const double above = gradient(network, parameters, batch.view(), unused, {});
      parameters[i] = middle - kStep;
      const double below = gradient(network, parameters, batch.view(), unused, {});
      parameters[i] = middle;
      derivatives.push_back(gradient_out[i]);
      differences.push_back((above - below) / (2 * kStep));
    }

    EXPECT_LT(relative_error(derivatives, differences), 1e-6);
  }
}

TEST(ReferenceGradient, OfASoftmaxByHand) {
  const Network network = softmax({1, 1, 2}, 2).value();
  const std::vector<float> image = {1.0f, 2.0f};
  const std::vector<std::uint8_t> label = {1};
  const std::vector<double> parameters = {0.5, 0.0, 0.0, 0.5, 0.0, 0.25};
  std::vector<double> gradient_out(6);

  const double loss = gradient(network, parameters, {image, label}, gradient_out, {});

  const double wrong = 1.0 / (1.0 + std::exp(0.75));  // outputs 0.5 and 1.25
  EXPECT_NEAR(loss, -std::log(1.0 - wrong), 1e-12);
  const std::vector<double> expected = {wrong, 2 * wrong, -wrong, -2 * wrong, wrong, -wrong};
  EXPECT_LT(relative_error(gradient_out, expected), 1e-12);
}

TEST(ReferenceGradient, MovesTheRunningStatisticsAsPyTorchDoes) {
  const Network network =
      Network::make({.input = {2, 1, 1}, .layers = {BatchNorm{}}, .classes = 2}).value();
  const std::vector<float> images = {1, 10, 2, 10, 6, 10};
  const std::vector<std::uint8_t> labels = {0, 1, 0};
  const std::vector<double> parameters = {1, 1, 0, 0};
  std::vector<double> gradient_out(4), statistics = {0, 0, 1, 1};

  gradient(network, parameters, {images, labels}, gradient_out, statistics);

  EXPECT_NEAR(statistics[0], 0.1 * 3.0, 1e-12);
  EXPECT_NEAR(statistics[1], 0.1 * 10.0, 1e-12);
  EXPECT_NEAR(statistics[2], 0.9 + 0.1 * 7.0, 1e-12);  // (4 + 1 + 9) / 2
  EXPECT_NEAR(statistics[3], 0.9, 1e-12);
}

TEST(ReferenceEvaluate, UsesTheRunningStatistics) {
  const Network network =
      Network::make({.input = {2, 1, 1}, .layers = {BatchNorm{}}, .classes = 2}).value();
  const std::vector<float> images = {3, 1, 1, 1};
  const std::vector<std::uint8_t> labels = {0, 0};
  const std::vector<double> parameters = {2, 1, 0, 0.5};
  const std::vector<double> statistics = {1, 0, 4 - kBatchNormEpsilon, 1 - kBatchNormEpsilon};

  const NetworkEvaluation evaluation = evaluate(network, parameters, statistics, {images, labels});

  // Outputs 2 and 1.5, then 0 and 1.5.
  EXPECT_EQ(evaluation.correct, 1u);
  EXPECT_NEAR(evaluation.loss_sum, std::log1p(std::exp(-0.5)) + std::log1p(std::exp(1.5)), 1e-12);
}

}  // namespace
}  // namespace ballast::nn::reference
