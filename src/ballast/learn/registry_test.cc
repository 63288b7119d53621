#include "ballast/learn/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::learn {
namespace {

using ::testing::HasSubstr;

constexpr data::Shape kMnist = {.channels = 1, .height = 28, .width = 28};
constexpr data::Shape kCifar10 = {.channels = 3, .height = 32, .width = 32};

std::string error_of(const ModelOptions& options) {
  const auto model = make_model(options);
  return model ? "no error" : model.error().message;
}

TEST(ModelRegistry, MakesEveryModelItLists) {
  for (const ModelEntry& entry : model_registry()) {
    SCOPED_TRACE(entry.name);
    const data::Shape input = entry.name == "cifar10-cnn" ? kCifar10 : kMnist;

    const auto model =
        make_model({.name = std::string(entry.name), .input = input, .class_count = 10});

    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ((*model)->initial_parameters(1).size(), (*model)->dim());
    EXPECT_FALSE(entry.summary.empty());
  }
}

TEST(ModelRegistry, MakesThePapersNetworks) {
  EXPECT_EQ((*make_model({.name = "mnist-cnn", .input = kMnist, .class_count = 10}))->dim(),
            66230u);
  EXPECT_EQ((*make_model({.name = "cifar10-cnn", .input = kCifar10, .class_count = 10}))->dim(),
            89730u);
}

TEST(ModelRegistry, MakesAnMlpOfTheSizeAskedFor) {
  const ModelOptions options = {
      .name = "mlp", .input = {.channels = 3}, .class_count = 2, .hidden = 4};

  EXPECT_EQ((*make_model(options))->dim(), 3u * 4 + 4 + 4 * 2 + 2);
}

TEST(ModelRegistry, SuggestsTheNearestName) {
  EXPECT_EQ(error_of({.name = "mnist-cn", .input = kMnist, .class_count = 10}),
            "there is no model 'mnist-cn'; did you mean 'mnist-cnn'?");
  EXPECT_THAT(error_of({.name = "transformer", .input = kMnist, .class_count = 10}),
              HasSubstr("must be TorchScript and end in .pt"));
}

TEST(ModelRegistry, RefusesSizesTheModelCannotHave) {
  EXPECT_EQ(error_of({.name = "mnist-cnn", .input = kCifar10, .class_count = 10}),
            "model 'mnist-cnn' is made for samples of 1 x 28 x 28 in 10 classes, not 3 x 32 x 32 "
            "in 10; try 'softmax' or 'mlp'");
  EXPECT_THAT(error_of({.name = "mnist-cnn", .input = kMnist, .class_count = 5}),
              HasSubstr("not 1 x 28 x 28 in 5"));
  EXPECT_THAT(error_of({.name = "mlp", .input = kMnist, .class_count = 5, .hidden = 0}),
              HasSubstr("hidden"));
  EXPECT_THAT(error_of({.name = "softmax", .input = kMnist, .class_count = -1}),
              HasSubstr("model 'softmax': a network has 1 to 256 classes, not 0"));
}

}  // namespace
}  // namespace ballast::learn
