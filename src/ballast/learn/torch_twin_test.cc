// The native engine and LibTorch compute the same. Both round to 24 bits and add in different
// orders: gradients of these networks then differ by about 1e-6 of their length, and by more where
// batch normalisation divides by a small deviation. A wrong or missing term is a thousand times
// larger than the tolerance.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ballast/learn/native_model.h"
#include "ballast/learn/network_slots.h"
#include "ballast/learn/registry.h"
#include "ballast/learn/testing.h"
#include "ballast/learn/torch_model.h"
#include "ballast/nn/models.h"

namespace ballast::learn {
namespace {

using testing::random_dataset;
using testing::training_on;

constexpr double kGradientTolerance = 1e-4;
constexpr double kLossTolerance = 1e-5;
constexpr double kStatisticsTolerance = 1e-5;

std::vector<nn::Network> networks() {
  const auto make = [](const nn::LayerShape& input, std::vector<nn::Layer> layers) {
    return nn::Network::make({.input = input, .layers = std::move(layers), .classes = 4}).value();
  };
  return {
      nn::mnist_cnn(),
      nn::cifar10_cnn(),
      nn::softmax({1, 28, 28}, 10).value(),
      nn::mlp({3, 9, 5}, 33, 7).value(),
      make({2, 7, 9}, {nn::Conv2d{.channels = 3, .kernel = 2}, nn::MaxPool{}, nn::Relu{},
                       nn::Flatten{}, nn::Linear{4}}),
      make({2, 6, 5},
           {nn::Conv2d{.channels = 9, .kernel = 3, .padding = 2, .bias = false}, nn::BatchNorm{},
            nn::Relu{}, nn::MaxPool{}, nn::Flatten{}, nn::Linear{.features = 4, .bias = false}}),
      make({3, 8, 8}, {nn::MaxPool{}, nn::BatchNorm{}, nn::Conv2d{.channels = 4, .kernel = 4},
                       nn::BatchNorm{}, nn::Flatten{}}),
  };
}

double length(std::span<const float> values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double relative_error(std::span<const float> found, std::span<const float> expected) {
  std::vector<float> difference;
  for (std::size_t i = 0; i < found.size(); ++i) difference.push_back(found[i] - expected[i]);
  return length(difference) / length(expected);
}

// Both engines on one network.
struct Engines {
  explicit Engines(const nn::Network& network)
      : native(make_native_model(network)),
        torch(make_torch_twin(network).value()),
        input(input_of(network)),
        class_count(class_count_of(network)) {}

  std::shared_ptr<const Model> native;
  std::shared_ptr<const Model> torch;
  data::Shape input;
  int class_count;
};

// Initialised, then moved a little, so that batch norm's weights and biases are not all alike.
std::vector<float> moved_parameters(const Model& model, std::uint64_t seed, double nudge = 0.0) {
  std::vector<float> parameters = model.initial_parameters(seed);
  Rng rng(seed);
  for (float& parameter : parameters) {
    parameter += static_cast<float>((0.05 + nudge) * rng.normal());
  }
  return parameters;
}

struct Found {
  double loss = 0.0;
  std::vector<float> gradient;
  std::vector<float> statistics;
};

Found gradient_of(const Model& model, const TrainingData& training, const worker::Sample& sample,
                  const std::vector<float>& parameters) {
  Found found = {.gradient = std::vector<float>(model.dim(), 99.0f),
                 .statistics = model.initial_statistics()};
  const auto source = model.make_source(training).value();
  found.loss = source->gradient(parameters, sample, found.gradient, found.statistics).value();
  return found;
}

// Whether the gradients agree at a point; expects that the rest does.
bool have_equal_gradients(const Engines& engines, const TrainingData& training,
                          const worker::Sample& sample, const std::vector<float>& parameters) {
  const Found native = gradient_of(*engines.native, training, sample, parameters);
  const Found torch = gradient_of(*engines.torch, training, sample, parameters);

  EXPECT_NEAR(native.loss, torch.loss, kLossTolerance * torch.loss);
  EXPECT_GT(length(torch.gradient), 0.0);
  if (!torch.statistics.empty()) {
    EXPECT_NE(torch.statistics, engines.torch->initial_statistics());
    EXPECT_LE(relative_error(native.statistics, torch.statistics), kStatisticsTolerance);
  }
  return relative_error(native.gradient, torch.gradient) <= kGradientTolerance;
}

// The gradient jumps where the input of a ReLU is 0 or two inputs of a maximum are equal. A point
// within rounding of such a border may be taken for the other side, so a second one, nearby, has
// its say; a wrong formula is wrong at both.
void expect_equal_gradients(const Engines& engines, const TrainingData& training,
                            const worker::Sample& sample) {
  SCOPED_TRACE(::testing::Message() << "dim " << engines.native->dim() << ", batch "
                                    << training.batch << ", seed " << sample.key.seed);
  const auto is_equal_after = [&](double nudge) {
    const auto parameters = moved_parameters(*engines.native, sample.key.seed, nudge);
    return have_equal_gradients(engines, training, sample, parameters);
  };

  EXPECT_TRUE(is_equal_after(0.0) || is_equal_after(1e-4));
}

void expect_equal_evaluations(const Engines& engines, std::uint64_t seed) {
  const auto test = random_dataset({engines.input, engines.class_count, 300, seed});
  const auto parameters = moved_parameters(*engines.native, seed);
  std::vector<float> statistics = engines.native->initial_statistics();
  for (float& value : statistics) value += 0.25f;

  const auto native =
      engines.native->make_evaluator(test).value()->evaluate(parameters, statistics).value();
  const auto torch =
      engines.torch->make_evaluator(test).value()->evaluate(parameters, statistics).value();

  EXPECT_NEAR(native.loss, torch.loss, kLossTolerance * torch.loss);
  // One sample may lie so near the border of two classes that rounding decides.
  EXPECT_NEAR(native.accuracy, torch.accuracy, 1.5 / 300);
}

TEST(TorchTwin, HasTheSameTensorsAndStart) {
  for (const nn::Network& network : networks()) {
    const Engines engines(network);

    EXPECT_EQ(engines.torch->dim(), engines.native->dim());
    EXPECT_EQ(engines.torch->initial_parameters(3), engines.native->initial_parameters(3));
    EXPECT_EQ(engines.torch->initial_statistics(), engines.native->initial_statistics());
    ASSERT_EQ(engines.torch->parameters().size(), engines.native->parameters().size());
    for (std::size_t i = 0; i < engines.torch->parameters().size(); ++i) {
      EXPECT_EQ(engines.torch->parameters()[i].name, engines.native->parameters()[i].name);
      EXPECT_EQ(engines.torch->parameters()[i].offset, engines.native->parameters()[i].offset);
    }
  }
}

TEST(TorchTwin, GivesTheNativeGradients) {
  for (const nn::Network& network : networks()) {
    const Engines engines(network);
    const auto dataset = random_dataset({engines.input, engines.class_count});
    for (const std::size_t batch : {1u, 8u, 16u, 33u}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        expect_equal_gradients(engines, training_on(dataset, batch),
                               {.key = {.seed = seed, .worker = 1, .step = seed}});
      }
    }
  }
}

TEST(TorchTwin, GivesTheNativeGradientsOfAugmentedAndMislabelledSamples) {
  for (const nn::Network& network : networks()) {
    const Engines engines(network);
    const auto dataset = random_dataset({engines.input, engines.class_count});
    const std::vector<int> map = testing::reversed_labels(engines.class_count);
    TrainingData training = training_on(dataset, 16);
    training.augmentation = {.crop_padding = 2, .flip_probability = 0.5};
    for (const std::uint64_t seed : {4u, 5u}) {
      expect_equal_gradients(engines, training,
                             {.key = {.seed = seed, .worker = 2, .step = 9}, .label_map = map});
    }
  }
}

TEST(TorchTwin, EvaluatesAsTheNativeEngineDoes) {
  for (const nn::Network& network : networks()) {
    for (const std::uint64_t seed : {6u, 7u}) {
      SCOPED_TRACE(seed);
      expect_equal_evaluations(Engines(network), seed);
    }
  }
}

TEST(TorchTwin, LeavesStatisticsThatAreNotAskedForAlone) {
  const auto model = make_torch_twin(nn::mnist_cnn()).value();
  const auto training = training_on(random_dataset({{1, 28, 28}, 10}), 8);
  const auto parameters = model->initial_parameters(1);
  const Found with = gradient_of(*model, training, {}, parameters);
  std::vector<float> without(model->dim());

  ASSERT_TRUE(model->make_source(training).value()->gradient(parameters, {}, without, {}));

  EXPECT_EQ(without, with.gradient);
}

TEST(TorchTwin, GivesTheSameGradientsToManyThreads) {
  const auto model = make_torch_twin(nn::mnist_cnn()).value();
  const auto source = model->make_source(training_on(random_dataset({{1, 28, 28}, 10}), 8)).value();
  const auto parameters = model->initial_parameters(1);
  std::vector<std::vector<float>> together(12, std::vector<float>(model->dim()));
  const auto compute = [&](std::size_t step, std::vector<float>& out) {
    EXPECT_TRUE(source->gradient(parameters, {.key = {.seed = 1, .step = step}}, out, {}));
  };

  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < together.size(); i += 3) compute(i, together[i]);
    });
  }
  threads.clear();

  std::vector<float> alone(model->dim());
  for (std::size_t i = 0; i < together.size(); ++i) {
    compute(i, alone);
    EXPECT_EQ(together[i], alone) << i;
  }
}

TEST(TorchTwin, IsWhatTheRegistryMakes) {
  const auto model = make_model(
      {.name = "softmax", .engine = Engine::kTorch, .input = {.channels = 5}, .class_count = 3});

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->dim(), 18u);
}

}  // namespace
}  // namespace ballast::learn
