#include "ballast/learn/native_model.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "ballast/learn/batches.h"
#include "ballast/learn/network_slots.h"
#include "ballast/learn/testing.h"
#include "ballast/nn/gradient.h"
#include "ballast/nn/models.h"
#include "ballast/worker/worker.h"

namespace ballast::learn {
namespace {

using testing::random_dataset;
using testing::training_on;

constexpr data::Shape kShape = {.channels = 2, .height = 7, .width = 6};
constexpr int kClasses = 4;

// Has batch normalisation, so that statistics move.
nn::Network small_network() {
  return nn::Network::make({.input = {2, 7, 6},
                            .layers = {nn::Conv2d{.channels = 5, .kernel = 3}, nn::BatchNorm{},
                                       nn::Relu{}, nn::MaxPool{}, nn::Flatten{}, nn::Linear{4}},
                            .classes = 4})
      .value();
}

TrainingData small_training(std::size_t batch = 8) {
  return training_on(random_dataset({.shape = kShape, .class_count = kClasses}), batch);
}

TEST(NativeModel, ShowsItsTensorsAndItsStart) {
  const auto model = make_native_model(small_network());

  EXPECT_EQ(model->dim(), 90u + 5 + 10 + 80 + 4);
  ASSERT_EQ(model->parameters().size(), 6u);
  EXPECT_EQ(model->parameters()[2].name, "1.weight");
  EXPECT_EQ(model->parameters()[2].offset, 95u);
  ASSERT_EQ(model->statistics().size(), 2u);
  EXPECT_EQ(model->statistics()[1].name, "1.running_var");
  EXPECT_EQ(model->initial_statistics().size(), 10u);
  EXPECT_EQ(model->initial_parameters(7), model->initial_parameters(7));
  EXPECT_NE(model->initial_parameters(7), model->initial_parameters(8));
}

TEST(NativeModel, TakesTheGradientOfTheDrawnBatch) {
  const nn::Network network = small_network();
  const auto model = make_native_model(network);
  const TrainingData training = small_training();
  const auto source = model->make_source(training).value();
  const std::vector<int> map = testing::reversed_labels(kClasses);
  const worker::Sample sample = {.key = {.seed = 5, .worker = 2, .step = 3}, .label_map = map};
  const auto parameters = model->initial_parameters(1);
  std::vector<float> gradient(model->dim()), statistics = model->initial_statistics();

  const double loss = source->gradient(parameters, sample, gradient, statistics).value();

  DrawnBatch batch;
  ASSERT_TRUE(Batches::make(training, kShape, kClasses)->draw(sample, batch));
  const std::vector<std::uint8_t> labels(batch.labels.begin(), batch.labels.end());
  std::vector<float> expected(model->dim()), moved = model->initial_statistics();
  nn::NetworkWorkspace workspace;
  EXPECT_EQ(loss,
            nn::gradient(network, parameters, {batch.images, labels}, expected, moved, workspace));
  EXPECT_EQ(gradient, expected);
  EXPECT_EQ(statistics, moved);
  EXPECT_NE(statistics, model->initial_statistics());
}

TEST(NativeModel, LeavesOutStatisticsThatAreNotAskedFor) {
  const auto model = make_native_model(small_network());
  const auto source = model->make_source(small_training()).value();
  const auto parameters = model->initial_parameters(1);
  std::vector<float> with(model->dim()), without(model->dim());
  std::vector<float> statistics = model->initial_statistics();

  ASSERT_TRUE(source->gradient(parameters, {}, with, statistics));
  ASSERT_TRUE(source->gradient(parameters, {}, without, {}));

  EXPECT_EQ(with, without);
}

TEST(NativeModel, GivesTheSameGradientsToManyThreads) {
  const auto model = make_native_model(small_network());
  const auto source = model->make_source(small_training()).value();
  const auto parameters = model->initial_parameters(1);
  constexpr std::size_t kThreads = 4, kSteps = 20;
  const auto compute = [&](std::size_t step) {
    std::vector<float> out(model->dim());
    EXPECT_TRUE(source->gradient(parameters, {.key = {.seed = 1, .step = step}}, out, {}));
    return out;
  };
  std::vector<std::vector<float>> together(kThreads * kSteps);

  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < together.size(); i += kThreads) together[i] = compute(i);
    });
  }
  threads.clear();

  for (std::size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], compute(i)) << i;
}

TEST(NativeModel, EvaluatesTheWholeTestSet) {
  const nn::Network network = small_network();
  const auto model = make_native_model(network);
  const auto test = random_dataset({.shape = kShape, .class_count = kClasses, .samples = 37});
  const auto parameters = model->initial_parameters(1);
  const auto statistics = model->initial_statistics();

  const auto found = model->make_evaluator(test).value()->evaluate(parameters, statistics).value();

  std::vector<std::uint32_t> indices(37);
  std::iota(indices.begin(), indices.end(), 0u);
  std::vector<float> images(37 * kShape.size());
  std::vector<int> classes(37);
  test->fill_batch(indices, images, classes);
  const std::vector<std::uint8_t> labels(classes.begin(), classes.end());
  nn::NetworkWorkspace workspace;
  const auto sums = nn::evaluate(network, parameters, statistics, {images, labels}, workspace);
  EXPECT_DOUBLE_EQ(found.loss, sums.loss_sum / 37.0);
  EXPECT_DOUBLE_EQ(found.accuracy, static_cast<double>(sums.correct) / 37.0);
}

TEST(NativeModel, RefusesDataOfAnotherShape) {
  const auto model = make_native_model(small_network());
  const auto other = random_dataset({.shape = {1, 7, 6}, .class_count = kClasses});

  EXPECT_FALSE(model->make_source(training_on(other, 8)));
  EXPECT_FALSE(model->make_evaluator(other));
  EXPECT_FALSE(model->make_evaluator(nullptr));
  EXPECT_FALSE(model->make_source(small_training(0)));
}

TEST(NativeModel, RefusesAWorkerWithoutData) {
  const auto model = make_native_model(small_network());
  const auto source = model->make_source(small_training()).value();
  std::vector<float> out(model->dim());

  EXPECT_FALSE(source->gradient(model->initial_parameters(1), {.key = {.worker = 3}}, out, {}));
}

TEST(NativeModel, LearnsWithAWorker) {
  const auto model = make_native_model(nn::softmax({2, 7, 6}, 4).value());
  const TrainingData training = small_training();
  const auto source = model->make_source(training).value();
  const auto evaluator = model->make_evaluator(training.dataset).value();
  auto worker = worker::Worker::make({.seed = 1, .id = 0}, *source).value();
  std::vector<float> parameters = model->initial_parameters(1);
  const double before = evaluator->evaluate(parameters, {})->loss;

  for (std::uint64_t version = 0; version < 30; ++version) {
    const auto update = worker.on_model({.version = version, .values = parameters}).value();
    for (std::size_t j = 0; j < parameters.size(); ++j) parameters[j] -= 0.1f * update.values[j];
  }

  EXPECT_LT(evaluator->evaluate(parameters, {})->loss, before / 2);
}

}  // namespace
}  // namespace ballast::learn
