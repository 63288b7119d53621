// Time of one gradient (forward and backward, one thread) of the paper's networks. GFLOP/s counts
// the products of the dense formulas, two operations each, whether or not a gradient was found to
// be zero.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/nn/gradient.h"
#include "ballast/nn/initialise.h"
#include "ballast/nn/models.h"

namespace {

namespace nn = ballast::nn;

// Multiply-adds of one sample: forward, and twice that backward, less the gradient of the images.
double products(const nn::Network& network) {
  double forward = 0.0, first = 0.0;
  for (const nn::Step& step : network.steps()) {
    double here = 0.0;
    if (const auto* conv = std::get_if<nn::Conv2d>(&step.layer)) {
      here = static_cast<double>(step.out.size() * step.in.channels * conv->kernel * conv->kernel);
    } else if (std::holds_alternative<nn::Linear>(step.layer)) {
      here = static_cast<double>(step.out.size() * step.in.size());
    }
    if (first == 0.0) first = here;
    forward += here;
  }
  return 3.0 * forward - first;
}

struct Problem {
  Problem(nn::Network network_in, std::size_t samples)
      : network(std::move(network_in)),
        parameters(network.parameter_count()),
        gradient(network.parameter_count()),
        statistics(network.statistic_count()),
        labels(samples) {
    nn::initialise(network, 1, parameters);
    nn::initialise_statistics(network, statistics);
    ballast::Rng rng(2);
    images.resize(samples * network.input().size());
    for (float& value : images) value = static_cast<float>(rng.normal());
    for (auto& label : labels) label = static_cast<std::uint8_t>(rng.below(network.classes()));
  }

  nn::Network network;
  std::vector<float> parameters, gradient, statistics, images;
  std::vector<std::uint8_t> labels;
  nn::NetworkWorkspace workspace;
};

void report(benchmark::State& state, double operations) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void time_gradient(benchmark::State& state, nn::Network network) {
  Problem p(std::move(network), static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(nn::gradient(p.network, p.parameters, {p.images, p.labels}, p.gradient,
                                          p.statistics, p.workspace));
  }
  report(state, 2.0 * products(p.network) * static_cast<double>(p.labels.size()));
}

void time_evaluate(benchmark::State& state, nn::Network network) {
  Problem p(std::move(network), static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        nn::evaluate(p.network, p.parameters, p.statistics, {p.images, p.labels}, p.workspace));
  }
}

void mnist_gradient(benchmark::State& state) { time_gradient(state, nn::mnist_cnn()); }
void cifar10_gradient(benchmark::State& state) { time_gradient(state, nn::cifar10_cnn()); }
void mnist_evaluate(benchmark::State& state) { time_evaluate(state, nn::mnist_cnn()); }
void cifar10_evaluate(benchmark::State& state) { time_evaluate(state, nn::cifar10_cnn()); }

BENCHMARK(mnist_gradient)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(cifar10_gradient)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK(mnist_evaluate)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(cifar10_evaluate)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
