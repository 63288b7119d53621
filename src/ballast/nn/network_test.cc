#include "ballast/nn/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/nn/models.h"

namespace ballast::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const NetworkSpec& spec) {
  const Result<Network> network = Network::make(spec);
  return network ? "no error" : network.error().message;
}

TEST(Network, LaysOutItsTensorsAsPyTorchDoes) {
  const Network network =
      Network::make({.input = {2, 6, 6},
                     .layers = {Conv2d{.channels = 3, .kernel = 3}, BatchNorm{}, Relu{}, Flatten{},
                                Linear{.features = 4, .bias = false}},
                     .classes = 4})
          .value();

  const auto tensors = network.parameters();
  ASSERT_EQ(tensors.size(), 5u);
  EXPECT_EQ(tensors[0].name, "0.weight");
  EXPECT_THAT(tensors[0].shape, ElementsAre(3, 2, 3, 3));
  EXPECT_EQ(tensors[1].name, "0.bias");
  EXPECT_EQ(tensors[1].offset, 54u);
  EXPECT_EQ(tensors[2].name, "1.weight");
  EXPECT_EQ(tensors[3].name, "1.bias");
  EXPECT_EQ(tensors[4].name, "4.weight");
  EXPECT_THAT(tensors[4].shape, ElementsAre(4, 48));
  EXPECT_EQ(tensors[4].offset, 63u);
  EXPECT_EQ(network.parameter_count(), 63u + 192u);
  ASSERT_EQ(network.statistics().size(), 2u);
  EXPECT_EQ(network.statistics()[0].name, "1.running_mean");
  EXPECT_EQ(network.statistics()[1].name, "1.running_var");
  EXPECT_EQ(network.statistics()[1].offset, 3u);
  EXPECT_EQ(network.statistic_count(), 6u);
}

TEST(Network, FollowsTheShapes) {
  const Network network = mnist_cnn();

  EXPECT_EQ(network.steps()[0].out, (LayerShape{20, 24, 24}));
  EXPECT_EQ(network.steps()[2].out, (LayerShape{20, 12, 12}));
  EXPECT_EQ(network.steps()[5].out, (LayerShape{50, 4, 4}));
  EXPECT_EQ(network.steps()[6].out, (LayerShape{800}));
}

TEST(Network, RejectsLayersThatDoNotFit) {
  const LayerShape image = {1, 4, 4};
  EXPECT_THAT(error_of({image, {Conv2d{2, 5}}, 2}),
              HasSubstr("layer 0: a kernel of 5 does not fit"));
  EXPECT_THAT(error_of({image, {Conv2d{2, 0}}, 2}), HasSubstr("kernel of 0"));
  EXPECT_THAT(error_of({image, {Conv2d{2, 3, 3}}, 2}), HasSubstr("padding 3"));
  EXPECT_THAT(error_of({image, {Conv2d{0, 3}}, 2}), HasSubstr("is empty"));
  EXPECT_THAT(error_of({image, {Linear{2}}, 2}), HasSubstr("linear takes flattened"));
  EXPECT_THAT(error_of({image, {Flatten{}, MaxPool{}}, 2}), HasSubstr("layer 1: max pooling"));
  EXPECT_THAT(error_of({image, {Flatten{}, Linear{3}}, 2}), HasSubstr("for 2 classes"));
  EXPECT_THAT(error_of({image, {}, 2}), HasSubstr("layers"));
  EXPECT_THAT(error_of({image, {Flatten{}}, 0}), HasSubstr("classes"));
  EXPECT_THAT(error_of({{0, 4, 4}, {Flatten{}}, 2}), HasSubstr("is empty"));
}

TEST(Network, RejectsSizesThatWouldOverflow) {
  constexpr std::size_t kHuge = std::size_t{1} << 62;
  EXPECT_THAT(error_of({{kHuge, kHuge, kHuge}, {Flatten{}}, 2}), HasSubstr("above"));
  EXPECT_THAT(error_of({{4, 1, 1}, {Linear{kHuge}}, 2}), HasSubstr("above"));
  EXPECT_THAT(error_of({{1, 4, 4}, {Conv2d{2, kHuge, kHuge - 1}}, 2}), HasSubstr("kernel"));
  EXPECT_THAT(error_of({{1, 1, 1 << 20}, {Conv2d{2, 64, 63}}, 2}), HasSubstr("above"));
  EXPECT_THAT(error_of({{1 << 20, 1, 1}, {Linear{1 << 20}}, 2}), HasSubstr("parameters"));
}

TEST(Models, HaveThePapersNumberOfParameters) {
  EXPECT_EQ(mnist_cnn().parameter_count(), 66230u);
  EXPECT_EQ(cifar10_cnn().parameter_count(), 89730u);
  EXPECT_EQ(mnist_cnn().statistic_count(), 100u);
  EXPECT_EQ(softmax({1, 28, 28}, 10)->parameter_count(), 7850u);
  EXPECT_EQ(mlp({1, 28, 28}, 100, 10)->parameter_count(), 79510u);
}

}  // namespace
}  // namespace ballast::nn
