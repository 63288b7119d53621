#include "apps/ballast/bench_train.h"

#include <stdlib.h>  // setenv

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include "ballast/assembly/parts.h"
#include "ballast/base/rng.h"
#include "ballast/learn/registry.h"
#include "ballast/nn/instructions.h"
#include "ballast/sim/cluster.h"

namespace ballast::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kSampleCount = 2000;
constexpr int kClassCount = 10;
constexpr int kGradientCalls = 60;
constexpr int kWarmCalls = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<std::shared_ptr<const data::Dataset>> random_images(const data::Shape& shape) {
  Rng rng(kSeed);
  std::vector<std::uint8_t> pixels(kSampleCount * shape.size());
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  std::vector<int> labels(kSampleCount);
  for (int& label : labels) label = static_cast<int>(rng.below(kClassCount));
  BALLAST_TRY(auto dataset,
              data::Dataset::from_pixels(shape, std::move(pixels), std::move(labels), kClassCount));
  return std::make_shared<const data::Dataset>(std::move(dataset));
}

}  // namespace

void limit_to_avx2() {
  nn::limit_to_avx2();
  constexpr int kReplace = 1;
  setenv("ATEN_CPU_CAPABILITY", "avx2", kReplace);   // LibTorch's own loops
  setenv("OPENBLAS_CORETYPE", "Haswell", kReplace);  // its matrix products
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", kReplace);    // its convolutions, by new and old name
  setenv("DNNL_MAX_CPU_ISA", "AVX2", kReplace);
}

Result<assembly::Material> random_material(const std::string& data, assembly::Engine engine) {
  const bool is_mnist = data == "mnist";
  const data::Shape shape = is_mnist ? data::Shape{.channels = 1, .height = 28, .width = 28}
                                     : data::Shape{.channels = 3, .height = 32, .width = 32};
  BALLAST_TRY(auto images, random_images(shape));
  BALLAST_TRY(auto model, learn::make_model({.name = is_mnist ? "mnist-cnn" : "cifar10-cnn",
                                             .engine = engine,
                                             .input = shape,
                                             .class_count = kClassCount}));
  const auto augmentation = is_mnist ? data::Augmentation{} : data::kPaperCifar10Augmentation;
  return assembly::Material{.data = {images, images, augmentation}, .model = std::move(model)};
}

Result<TrainBenchResult> bench_training(const assembly::RunSpec& run,
                                        const assembly::Material& material, std::size_t threads) {
  BALLAST_TRY(auto server, assembly::make_server(run, kSeed, material));
  BALLAST_TRY(const auto training, assembly::training_data(run, kSeed, material.data));
  BALLAST_TRY(const auto source, material.model->make_source(training));
  BALLAST_TRY(const auto attack, assembly::make_run_attack(run));
  BALLAST_TRY(const auto preview_method,
              assembly::make_preview_method(run, kSeed, material, attack.get()));
  BALLAST_TRY(const auto arrivals, assembly::make_arrivals(run, kSeed));
  const std::vector<worker::GradientSource*> sources(run.workers, source.get());
  const Clock::time_point start = Clock::now();
  BALLAST_TRY(const auto result, sim::run({.workers = assembly::population(run),
                                           .estimator = assembly::estimator_options(run),
                                           .seed = kSeed,
                                           .threads = threads},
                                          {.server = server,
                                           .sources = sources,
                                           .attack = attack.get(),
                                           .preview_method = preview_method.get()},
                                          arrivals));
  const double seconds = seconds_since(start);
  const double in_gradients =
      std::reduce(result.gradient_seconds.begin(), result.gradient_seconds.end());
  return TrainBenchResult{
      .updates_per_second = static_cast<double>(result.arrivals) / seconds,
      .outside_gradients = 1.0 - in_gradients / (seconds * static_cast<double>(threads))};
}

Result<double> bench_gradient(const assembly::Material& material, std::size_t batch) {
  assembly::RunSpec run;
  run.workers = 1;
  run.batch = batch;
  BALLAST_TRY(const auto training, assembly::training_data(run, kSeed, material.data));
  BALLAST_TRY(const auto source, material.model->make_source(training));
  const std::vector<float> model = material.model->initial_parameters(kSeed);
  std::vector<float> gradient(model.size());
  std::vector<double> times;
  for (int call = 0; call < kWarmCalls + kGradientCalls; ++call) {
    const worker::Sample sample{
        .key = {.seed = kSeed, .worker = 0, .step = static_cast<std::uint64_t>(call)}};
    const Clock::time_point start = Clock::now();
    BALLAST_TRY_STATUS(source->gradient(model, sample, gradient, {}));
    if (call >= kWarmCalls) times.push_back(seconds_since(start));
  }
  const auto quartile = times.begin() + kGradientCalls / 4;
  std::ranges::nth_element(times, quartile);
  return *quartile * 1e3;
}

}  // namespace ballast::apps
