#include "ballast/nn/gradient.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "ballast/nn/models.h"
#include "ballast/nn/reference/gradient.h"
#include "ballast/nn/testing.h"

namespace ballast::nn {
namespace {

using testing::random_batch;
using testing::random_network;
using testing::random_parameters;
using testing::relative_error;
using testing::small_networks;

// Rounding of float sums as long as these; a wrong or missing term is a thousand times larger.
constexpr double kRounding = 5e-6;

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::vector<float> fresh_statistics(const Network& network) {
  std::vector<float> statistics(network.statistic_count());
  initialise_statistics(network, statistics);
  return statistics;
}

void expect_equal_to_reference(const Network& network, std::size_t samples, std::uint64_t seed,
                               NetworkWorkspace& workspace) {
  SCOPED_TRACE(::testing::Message() << samples << " samples, seed " << seed);
  const auto batch = random_batch(network, samples, seed);
  const std::vector<float> parameters = random_parameters(network, seed);
  std::vector<float> statistics = fresh_statistics(network);
  std::vector<double> exact_statistics = widened(statistics);
  std::vector<float> fast(parameters.size(), 99.0f);
  std::vector<double> exact(parameters.size());

  const double loss = gradient(network, parameters, batch.view(), fast, statistics, workspace);
  const double exact_loss =
      reference::gradient(network, widened(parameters), batch.view(), exact, exact_statistics);

  EXPECT_NEAR(loss, exact_loss, 1e-5 * exact_loss);
  EXPECT_LT(relative_error(fast, exact), kRounding);
  if (!statistics.empty()) {
    EXPECT_LT(relative_error(statistics, exact_statistics), kRounding);
  }
}

// The SIMD targets this machine can run, one at a time.
class EveryTarget : public ::testing::Test {
 protected:
  template <typename Body>
  void for_each_target(Body&& body) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      body();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

using Gradient = EveryTarget;
using Evaluate = EveryTarget;

TEST_F(Gradient, EqualsTheReferenceOnSmallNetworksAndOddBatches) {
  for_each_target([] {
    NetworkWorkspace workspace;
    for (const auto& [name, network] : small_networks()) {
      SCOPED_TRACE(name);
      for (const std::size_t samples : {2u, 3u, 8u, 16u, 17u, 33u}) {
        expect_equal_to_reference(network, samples, 17 + samples, workspace);
      }
    }
  });
}

TEST_F(Gradient, EqualsTheReferenceOnOneSample) {
  for_each_target([] {
    NetworkWorkspace workspace;
    for (const auto& [name, network] : small_networks()) {
      SCOPED_TRACE(name);
      expect_equal_to_reference(network, 1, 3, workspace);
    }
  });
}

// Not with two samples: batch norm turns any two values into -1 and 1, so the gradient through it
// is all cancellation, and even the reference moves by 2e-5 when its parameters move by a rounding.
TEST_F(Gradient, EqualsTheReferenceOnRandomNetworks) {
  constexpr std::size_t kSamples[] = {3, 5, 7, 8, 16, 17, 33};
  for_each_target([&] {
    NetworkWorkspace workspace;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(::testing::Message() << "random_network(" << seed << ")");
      expect_equal_to_reference(random_network(seed), kSamples[seed % 7], seed, workspace);
    }
  });
}

TEST_F(Gradient, EqualsTheReferenceOnThePapersNetworks) {
  for_each_target([] {
    NetworkWorkspace workspace;
    expect_equal_to_reference(mnist_cnn(), 16, 1, workspace);
    expect_equal_to_reference(cifar10_cnn(), 8, 1, workspace);
  });
}

TEST_F(Gradient, IsTheSameBitsInAnyWorkspace) {
  for_each_target([] {
    const Network network = mnist_cnn(), other = cifar10_cnn();
    const auto batch = random_batch(network, 5, 1), other_batch = random_batch(other, 9, 1);
    const std::vector<float> parameters = random_parameters(network, 1);
    std::vector<float> first(parameters.size()), again(parameters.size());
    std::vector<float> unused(other.parameter_count());
    NetworkWorkspace fresh, used;
    gradient(other, random_parameters(other, 1), other_batch.view(), unused, {}, used);

    const double loss = gradient(network, parameters, batch.view(), first, {}, fresh);

    EXPECT_EQ(gradient(network, parameters, batch.view(), again, {}, used), loss);
    EXPECT_EQ(first, again);
    EXPECT_EQ(gradient(network, parameters, batch.view(), again, {}, used), loss);
    EXPECT_EQ(first, again);
  });
}

TEST_F(Gradient, KeepsTheWorkspaceItHasGrown) {
  const Network network = mnist_cnn();
  const auto large = random_batch(network, 33, 1), small = random_batch(network, 7, 1);
  const std::vector<float> parameters = random_parameters(network, 1);
  std::vector<float> unused(parameters.size());
  NetworkWorkspace workspace;
  gradient(network, parameters, large.view(), unused, {}, workspace);
  const std::span<float> grown = workspace.floats(0);

  gradient(network, parameters, small.view(), unused, {}, workspace);
  gradient(network, parameters, large.view(), unused, {}, workspace);

  EXPECT_EQ(workspace.floats(0).data(), grown.data());
  EXPECT_EQ(workspace.floats(0).size(), grown.size());
}

TEST_F(Gradient, KeepsNoStatisticsUnlessAsked) {
  const Network network = mnist_cnn();
  const auto batch = random_batch(network, 4, 1);
  const std::vector<float> parameters = random_parameters(network, 1);
  std::vector<float> with(parameters.size()), without(parameters.size());
  std::vector<float> statistics = fresh_statistics(network);
  NetworkWorkspace workspace;

  gradient(network, parameters, batch.view(), with, statistics, workspace);
  gradient(network, parameters, batch.view(), without, {}, workspace);

  EXPECT_EQ(with, without);
  EXPECT_NE(statistics, fresh_statistics(network));
}

TEST_F(Gradient, LossIsNotFiniteWhenAParameterIsNot) {
  for_each_target([] {
    const Network network = mnist_cnn();
    const auto batch = random_batch(network, 4, 1);
    std::vector<float> parameters = random_parameters(network, 1), unused(parameters.size());
    parameters[3] = std::numeric_limits<float>::quiet_NaN();
    NetworkWorkspace workspace;

    EXPECT_FALSE(std::isfinite(gradient(network, parameters, batch.view(), unused, {}, workspace)));
  });
}

TEST_F(Evaluate, EqualsTheReference) {
  for_each_target([] {
    NetworkWorkspace workspace;
    for (const auto& [name, network] : small_networks()) {
      SCOPED_TRACE(name);
      const auto batch = random_batch(network, 37, 2);
      const std::vector<float> parameters = random_parameters(network, 2);
      std::vector<float> statistics(network.statistic_count(), 0.75f);

      const NetworkEvaluation fast =
          evaluate(network, parameters, statistics, batch.view(), workspace);

      const NetworkEvaluation exact =
          reference::evaluate(network, widened(parameters), widened(statistics), batch.view());
      EXPECT_EQ(fast.correct, exact.correct);
      EXPECT_NEAR(fast.loss_sum, exact.loss_sum, 1e-5 * exact.loss_sum);
    }
  });
}

TEST_F(Evaluate, OfNothingIsZero) {
  NetworkWorkspace workspace;
  const Network network = softmax({1, 2, 2}, 3).value();
  const std::vector<float> parameters(network.parameter_count());

  const NetworkEvaluation evaluation = evaluate(network, parameters, {}, {}, workspace);

  EXPECT_EQ(evaluation.correct, 0u);
  EXPECT_EQ(evaluation.loss_sum, 0.0);
}

}  // namespace
}  // namespace ballast::nn
