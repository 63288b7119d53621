// Gradients and evaluations of the paper's networks by the native engine and by LibTorch, one
// thread each, in turns, so that both meet the same machine. A gradient includes drawing its batch.
// `ratio` is LibTorch's processor time over that of the native engine; both are medians.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/learn/registry.h"

namespace {

namespace data = ballast::data;
namespace learn = ballast::learn;

struct Setting {
  std::string model;
  data::Shape input;
  std::size_t batch = 16;
  data::Augmentation augmentation = {};
};

const Setting kMnist = {"mnist-cnn", {1, 28, 28}, 16};
const Setting kCifar10 = {"cifar10-cnn", {3, 32, 32}, 8, data::kPaperCifar10Augmentation};

std::shared_ptr<const data::Dataset> random_dataset(const data::Shape& shape, std::size_t samples) {
  ballast::Rng rng(1);
  std::vector<std::uint8_t> pixels(samples * shape.size());
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  std::vector<int> labels(samples);
  for (int& label : labels) label = static_cast<int>(rng.below(10));
  return std::make_shared<const data::Dataset>(
      data::Dataset::from_pixels(shape, std::move(pixels), std::move(labels), 10).value());
}

double median_ms(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle * 1e3;
}

// Processor time of all threads: what others run on the machine does not count.
template <typename Body>
double seconds_of(Body&& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Calls both once to warm up, then in turns, and reports their times.
template <typename Native, typename Torch>
void compare(benchmark::State& state, Native&& native, Torch&& torch) {
  std::vector<double> native_times, torch_times;
  native();
  torch();
  for (auto _ : state) {
    native_times.push_back(seconds_of(native));
    torch_times.push_back(seconds_of(torch));
    state.SetIterationTime(native_times.back() + torch_times.back());
  }
  state.counters["native_ms"] = median_ms(native_times);
  state.counters["torch_ms"] = median_ms(torch_times);
  state.counters["ratio"] = median_ms(torch_times) / median_ms(native_times);
}

// The model on either engine; null, with the reason reported, without LibTorch.
std::shared_ptr<const learn::Model> model_of(benchmark::State& state, const Setting& setting,
                                             learn::Engine engine) {
  auto model = learn::make_model(
      {.name = setting.model, .engine = engine, .input = setting.input, .class_count = 10});
  if (model) return *model;
  state.SkipWithError(model.error().message.c_str());
  return nullptr;
}

void gradient(benchmark::State& state, const Setting& setting) {
  const auto native = model_of(state, setting, learn::Engine::kNative);
  const auto torch = model_of(state, setting, learn::Engine::kTorch);
  if (native == nullptr || torch == nullptr) return;
  const auto dataset = random_dataset(setting.input, 1000);
  const learn::TrainingData training = {
      dataset, std::make_shared<const data::Partition>(data::Partition::shared(1000, 1).value()),
      setting.augmentation, setting.batch};
  const auto native_source = native->make_source(training).value();
  const auto torch_source = torch->make_source(training).value();
  const auto parameters = native->initial_parameters(1);
  std::vector<float> out(native->dim()), statistics = native->initial_statistics();
  std::uint64_t step = 0;
  const auto call = [&](auto& source) {
    const auto loss = source.gradient(parameters, {.key = {.step = ++step}}, out, statistics);
    benchmark::DoNotOptimize(loss);
  };
  compare(
      state, [&] { call(*native_source); }, [&] { call(*torch_source); });
}

void evaluation(benchmark::State& state, const Setting& setting) {
  const auto native = model_of(state, setting, learn::Engine::kNative);
  const auto torch = model_of(state, setting, learn::Engine::kTorch);
  if (native == nullptr || torch == nullptr) return;
  const auto dataset = random_dataset(setting.input, 10000);
  const auto native_evaluator = native->make_evaluator(dataset).value();
  const auto torch_evaluator = torch->make_evaluator(dataset).value();
  const auto parameters = native->initial_parameters(1);
  const auto statistics = native->initial_statistics();
  const auto call = [&](auto& evaluator) {
    benchmark::DoNotOptimize(evaluator.evaluate(parameters, statistics));
  };
  compare(
      state, [&] { call(*native_evaluator); }, [&] { call(*torch_evaluator); });
}

BENCHMARK_CAPTURE(gradient, mnist_cnn_batch_16, kMnist)->UseManualTime();
BENCHMARK_CAPTURE(gradient, cifar10_cnn_batch_8, kCifar10)->UseManualTime();
BENCHMARK_CAPTURE(evaluation, mnist_cnn_10000_images, kMnist)->UseManualTime()->Iterations(5);
BENCHMARK_CAPTURE(evaluation, cifar10_cnn_10000_images, kCifar10)->UseManualTime()->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
