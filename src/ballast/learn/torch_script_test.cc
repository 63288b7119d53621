#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "ballast/data/temporary_folder.h"
#include "ballast/learn/registry.h"
#include "ballast/learn/testing.h"
#include "ballast/learn/torch_model.h"
#include "ballast/worker/worker.h"

namespace ballast::learn {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr data::Shape kShape = {.channels = 1, .height = 2, .width = 3};
constexpr int kClasses = 3;

// A linear layer on 6 values, with the tensors a user's module may have besides.
torch::jit::Module linear_module(const std::string& forward) {
  torch::jit::Module module("user");
  torch::manual_seed(1);
  module.register_parameter("weight", torch::randn({3, 6}) * 0.1, false);
  module.register_parameter("bias", torch::zeros({3}), false);
  module.register_buffer("running_mean", torch::zeros({6}));
  module.register_buffer("calls", torch::zeros({1}, torch::kLong));
  module.register_attribute("training", c10::BoolType::get(), true);
  for (auto parameter : module.parameters()) parameter.requires_grad_(true);
  module.define(forward);
  return module;
}

constexpr const char* kLinear = R"(
def forward(self, x):
    return torch.linear(x.flatten(1), self.weight, self.bias)
)";

constexpr const char* kDropout = R"(
def forward(self, x):
    y = torch.dropout(x.flatten(1), 0.5, self.training)
    return torch.linear(y, self.weight, self.bias)
)";

// Keeps a mean that moves by an amount which depends on how often it was called.
constexpr const char* kStatistics = R"(
def forward(self, x):
    y = x.flatten(1)
    if self.training:
        self.calls.add_(1)
        self.running_mean.add_(y.mean(0) / self.calls)
        return torch.linear(y, self.weight, self.bias)
    return torch.linear(y - self.running_mean, self.weight, self.bias)
)";

class TorchScriptFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "model.pt") const {
    return (folder_.path() / name).string();
  }

  std::string save(const torch::jit::Module& module) const {
    module.save(path());
    return path();
  }

  static Result<std::shared_ptr<const Model>> load(const std::string& file) {
    return make_model({.name = file, .input = kShape, .class_count = kClasses});
  }

  std::string error_of(const std::string& file) const {
    const auto model = load(file);
    return model ? "no error" : model.error().message;
  }

  static TrainingData training() {
    return testing::training_on(testing::random_dataset({.shape = kShape, .class_count = kClasses}),
                                8);
  }

 private:
  data::TemporaryFolder folder_ =
      data::TemporaryFolder::create(std::filesystem::temp_directory_path()).value();
};

TEST_F(TorchScriptFile, ShowsItsTensorsAndStartsFromTheirValues) {
  const torch::jit::Module module = linear_module(kLinear);

  const auto model = load(save(module));

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->dim(), 21u);
  ASSERT_EQ((*model)->parameters().size(), 2u);
  EXPECT_EQ((*model)->parameters()[0].name, "weight");
  EXPECT_THAT((*model)->parameters()[0].shape, ElementsAre(3, 6));
  EXPECT_EQ((*model)->parameters()[1].offset, 18u);
  ASSERT_EQ((*model)->statistics().size(), 1u);
  EXPECT_EQ((*model)->statistics()[0].name, "running_mean");
  EXPECT_EQ((*model)->initial_parameters(1), (*model)->initial_parameters(2));
  const at::Tensor weight = module.attr("weight").toTensor();
  EXPECT_EQ((*model)->initial_parameters(1)[7], weight[1][1].item<float>());
}

TEST_F(TorchScriptFile, GivesTheGradientsOfTheSameBuiltInModel) {
  const auto script = load(save(linear_module(kLinear))).value();
  const auto builtin =
      make_model({.name = "softmax", .input = kShape, .class_count = kClasses}).value();
  const auto parameters = builtin->initial_parameters(3);
  std::vector<float> found(21), expected(21);
  const worker::Sample sample = {.key = {.seed = 4, .worker = 1, .step = 2}};

  const double loss =
      script->make_source(training()).value()->gradient(parameters, sample, found, {}).value();
  const double expected_loss =
      builtin->make_source(training()).value()->gradient(parameters, sample, expected, {}).value();

  EXPECT_NEAR(loss, expected_loss, 1e-6);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST_F(TorchScriptFile, TrainsWithAWorker) {
  const auto model = load(save(linear_module(kDropout))).value();
  const auto source = model->make_source(training()).value();
  const auto evaluator = model->make_evaluator(training().dataset).value();
  auto worker = worker::Worker::make({.seed = 1, .id = 0}, *source).value();
  std::vector<float> parameters = model->initial_parameters(1);
  const auto statistics = model->initial_statistics();
  const double before = evaluator->evaluate(parameters, statistics)->loss;

  for (std::uint64_t version = 0; version < 40; ++version) {
    const auto update = worker.on_model({.version = version, .values = parameters}).value();
    for (std::size_t j = 0; j < parameters.size(); ++j) parameters[j] -= 0.2f * update.values[j];
  }

  EXPECT_LT(evaluator->evaluate(parameters, statistics)->loss, before / 2);
}

TEST_F(TorchScriptFile, DrawsTheSameMaskForTheSameSample) {
  const auto model = load(save(linear_module(kDropout))).value();
  const auto source = model->make_source(training()).value();
  const auto parameters = model->initial_parameters(1);
  const auto compute = [&](std::uint64_t step) {
    std::vector<float> out(model->dim());
    EXPECT_TRUE(source->gradient(parameters, {.key = {.seed = 1, .step = step}}, out, {}));
    return out;
  };
  std::vector<std::vector<float>> together(30);

  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < together.size(); i += 3) together[i] = compute(i);
    });
  }
  threads.clear();

  for (std::size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], compute(i)) << i;
  const auto without_dropout = load(save(linear_module(kLinear))).value();
  std::vector<float> plain(model->dim());
  ASSERT_TRUE(without_dropout->make_source(training())
                  .value()
                  ->gradient(parameters, {.key = {.seed = 1, .step = 0}}, plain, {}));
  EXPECT_NE(together[0], plain);
}

TEST_F(TorchScriptFile, MovesTheStatisticsOfTheCallAndKeepsNothing) {
  const auto model = load(save(linear_module(kStatistics))).value();
  const auto source = model->make_source(training()).value();
  const auto parameters = model->initial_parameters(1);
  std::vector<float> out(model->dim());
  std::vector<float> first = model->initial_statistics(), again = first, further = first;

  ASSERT_TRUE(source->gradient(parameters, {}, out, first));
  ASSERT_TRUE(source->gradient(parameters, {}, out, {}));
  ASSERT_TRUE(source->gradient(parameters, {}, out, again));
  further = first;
  ASSERT_TRUE(source->gradient(parameters, {}, out, further));

  EXPECT_NE(first, model->initial_statistics());
  EXPECT_EQ(again, first);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_FLOAT_EQ(further[i], 2 * first[i]);
}

TEST_F(TorchScriptFile, EvaluatesInEvaluationModeWithTheGivenStatistics) {
  const auto model = load(save(linear_module(kStatistics))).value();
  const auto evaluator = model->make_evaluator(training().dataset).value();
  const auto parameters = model->initial_parameters(1);
  const std::vector<float> zeros(6), ones(6, 1.0f);

  const double at_zeros = evaluator->evaluate(parameters, zeros)->loss;
  const double at_ones = evaluator->evaluate(parameters, ones)->loss;

  EXPECT_NE(at_zeros, at_ones);
  EXPECT_EQ(evaluator->evaluate(parameters, zeros)->loss, at_zeros);
}

TEST_F(TorchScriptFile, LeavesFrozenParametersOut) {
  torch::jit::Module module = linear_module(kLinear);
  module.attr("bias").toTensor().requires_grad_(false);

  const auto model = load(save(module));

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->dim(), 18u);
}

TEST_F(TorchScriptFile, IsRefusedInOneLineThatNamesIt) {
  std::ofstream(path("text.pt")) << "not a model";
  save(linear_module(kLinear));
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);

  EXPECT_EQ(error_of(path("none.pt")), "there is no model file '" + path("none.pt") + "'");
  for (const std::string& file : {path("text.pt"), path()}) {
    EXPECT_THAT(error_of(file), HasSubstr("model '" + file + "' is no TorchScript file"));
    EXPECT_THAT(error_of(file), Not(HasSubstr("\n")));
  }
}

TEST_F(TorchScriptFile, IsRefusedWithoutAnythingToTrain) {
  torch::jit::Module module = linear_module(kLinear);
  for (auto parameter : module.parameters()) parameter.requires_grad_(false);

  EXPECT_THAT(error_of(save(module)), EndsWith("it has no parameters that require a gradient"));
}

TEST_F(TorchScriptFile, IsRefusedWithParametersOfAnotherType) {
  torch::jit::Module module = linear_module(kLinear);
  module.to(torch::kDouble);

  EXPECT_THAT(error_of(save(module)), EndsWith("parameter 'weight' is not of type float32"));
}

TEST_F(TorchScriptFile, IsRefusedWithOutputsThatAreNotOnePerClass) {
  EXPECT_THAT(error_of(save(linear_module("def forward(self, x):\n  return self.weight\n"))),
              HasSubstr("shape 3 x 6 for 2 samples; 2 x 3 float32 are needed"));
  EXPECT_THAT(error_of(save(linear_module("def forward(self, x):\n  return (x, x)\n"))),
              EndsWith("forward() does not give a tensor"));
}

TEST_F(TorchScriptFile, IsRefusedWhenForwardThrows) {
  const std::string message =
      error_of(save(linear_module("def forward(self, x):\n  return x.view(5, 5)\n")));

  EXPECT_THAT(message, HasSubstr("model '" + path() + "': "));
  EXPECT_THAT(message, HasSubstr("shape '[5, 5]' is invalid"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace ballast::learn
