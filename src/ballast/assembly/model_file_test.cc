#include "ballast/assembly/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "ballast/files/safetensors.h"
#include "ballast/learn/registry.h"

namespace ballast::assembly {
namespace {

using testing::HasSubstr;

constexpr data::Shape kImages = {.channels = 1, .height = 28, .width = 28};

std::shared_ptr<const learn::Model> model_of(const std::string& name, std::size_t hidden = 5) {
  return learn::make_model({.name = name, .input = kImages, .class_count = 10, .hidden = hidden})
      .value();
}

ModelInput input() {
  return {.shape = kImages,
          .class_count = 10,
          .has_pixels = true,
          .normalization = {.mean = {0.1307f}, .deviation = {0.3081f}}};
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

class ModelFile : public testing::Test {
 protected:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("ballast-") + testing::UnitTest::GetInstance()->current_test_info()->name() +
       ".safetensors");
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const learn::Model& model, bool has_statistics = true) {
    const auto parameters = counting(model.dim());
    const auto statistics = counting(model.initial_statistics().size());
    ASSERT_TRUE(
        write_model(path_, model, input(),
                    {parameters, has_statistics ? std::span(statistics) : std::span<const float>()},
                    {.run = "run", .seed = 3, .updates = 40}));
  }
};

TEST_F(ModelFile, ComesBackAsItWasWritten) {
  const auto model = model_of("mnist-cnn");
  write(*model);

  const auto loaded = read_model(path_, *model);

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->parameters, counting(model->dim()));
  EXPECT_EQ(loaded->statistics, counting(model->initial_statistics().size()));
  EXPECT_TRUE(check_same_input(*loaded, input()));
}

TEST_F(ModelFile, SaysWhatElseIsNeededToUseTheTensors) {
  write(*model_of("mnist-cnn"));

  const auto metadata = files::read_safetensors(path_)->metadata;

  EXPECT_EQ(metadata.at("updates"), "40");
  const auto layers = nlohmann::json::parse(metadata.at("layers"));
  ASSERT_EQ(layers.size(), 11u);
  EXPECT_EQ(layers[0], "Conv2d(1, 20, kernel_size=5, padding=0)");
  EXPECT_EQ(layers[7], "Linear(800, 50)");
  EXPECT_EQ(layers[8], "BatchNorm1d(50)");
  const auto described = nlohmann::json::parse(metadata.at("input"));
  EXPECT_EQ(described["shape"], nlohmann::json({1, 28, 28}));
  EXPECT_TRUE(described["pixels"]);
  EXPECT_FLOAT_EQ(described["deviation"][0].get<float>(), 0.3081f);
  EXPECT_EQ(to_json(parse_model_input(metadata.at("input")).value()), metadata.at("input"));
}

TEST_F(ModelFile, WithoutStatisticsTheInitialOnesAreTaken) {
  const auto model = model_of("mnist-cnn");
  write(*model, false);
  EXPECT_EQ(read_model(path_, *model)->statistics, model->initial_statistics());
}

TEST_F(ModelFile, AModelOfAnotherShapeIsRefused) {
  write(*model_of("mlp", 5));
  EXPECT_THAT(read_model(path_, *model_of("mlp", 6)).error().message,
              HasSubstr("'1.weight' is float32 of shape (5, 784)"));
  EXPECT_THAT(read_model(path_, *model_of("mnist-cnn")).error().message,
              HasSubstr("is not this model"));
  EXPECT_THAT(read_model(path_, *model_of("softmax")).error().message, HasSubstr("does not have"));
}

TEST_F(ModelFile, OtherInputIsRefused) {
  const auto model = model_of("softmax");
  write(*model);
  ModelInput other = input();
  other.normalization.mean = {0.5f};
  EXPECT_THAT(check_same_input(read_model(path_, *model).value(), other).error().message,
              HasSubstr("trained on other input"));
}

TEST(ModelInput, WhatDescribesNoInputIsRefused) {
  for (const auto* text : {"", "{}", "[]", R"({"shape":[1,2],"classes":2})", R"({"shape":"x"})"}) {
    EXPECT_FALSE(parse_model_input(text)) << text;
  }
}

}  // namespace
}  // namespace ballast::assembly
