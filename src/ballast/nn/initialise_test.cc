#include "ballast/nn/initialise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ballast/nn/models.h"

namespace ballast::nn {
namespace {

std::vector<float> initialised(const Network& network, std::uint64_t seed) {
  std::vector<float> parameters(network.parameter_count(), 99.0f);
  initialise(network, seed, parameters);
  return parameters;
}

TEST(Initialise, DrawsEachTensorUniformlyWithinItsBound) {
  const Network network = mnist_cnn();
  const std::vector<float> parameters = initialised(network, 1);
  const std::vector<double> fan_in = {25, 25, 500, 500, 800, 800, 0, 0, 50, 50};

  ASSERT_EQ(network.parameters().size(), fan_in.size());
  for (std::size_t i = 0; i < fan_in.size(); ++i) {
    if (fan_in[i] == 0) continue;
    const NetworkTensor& tensor = network.parameters()[i];
    const auto values = std::span(parameters).subspan(tensor.offset, tensor.size());
    const double bound = 1.0 / std::sqrt(fan_in[i]);
    double squares = 0.0;
    for (const float value : values) {
      EXPECT_LE(std::abs(value), bound * (1 + 1e-6)) << tensor.name;
      squares += static_cast<double>(value) * value;
    }
    if (tensor.size() < 400) continue;
    EXPECT_NEAR(squares / static_cast<double>(tensor.size()), bound * bound / 3,
                0.2 * bound * bound / 3)
        << tensor.name;
  }
}

TEST(Initialise, StartsBatchNormAtTheIdentity) {
  const Network network = mnist_cnn();
  const std::vector<float> parameters = initialised(network, 1);
  std::vector<float> statistics(network.statistic_count(), 99.0f);
  initialise_statistics(network, statistics);

  for (std::size_t c = 0; c < 50; ++c) {
    EXPECT_EQ(parameters[network.parameters()[6].offset + c], 1.0f);
    EXPECT_EQ(parameters[network.parameters()[7].offset + c], 0.0f);
    EXPECT_EQ(statistics[c], 0.0f);
    EXPECT_EQ(statistics[50 + c], 1.0f);
  }
}

TEST(Initialise, IsAFunctionOfTheSeed) {
  const Network network = cifar10_cnn();

  EXPECT_EQ(initialised(network, 7), initialised(network, 7));
  EXPECT_NE(initialised(network, 7), initialised(network, 8));
}

}  // namespace
}  // namespace ballast::nn
