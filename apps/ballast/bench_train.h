#pragma once
// How fast training is on this machine: the simulator's own loop on random images of the right
// shape, without evaluations.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ballast/assembly/materials.h"
#include "ballast/assembly/run_spec.h"
#include "ballast/base/error.h"

namespace ballast::apps {

// Keeps gradients to AVX2, those of LibTorch included. Requires: LibTorch was not loaded yet, as it
// looks once. The few loops that the compiler dispatches, those of the optimizers, stay as they
// are.
void limit_to_avx2();

// Random pixels and labels, as many as a few batches need; the model is the data set's own.
// Requires: "mnist" or "cifar10".
Result<assembly::Material> random_material(const std::string& data, assembly::Engine engine);

struct TrainBenchResult {
  double updates_per_second = 0.0;
  // Share of the threads' time in which no gradient is computed: aggregation, steps, waiting.
  double outside_gradients = 0.0;
};

// Trains as the run says, on so many threads.
Result<TrainBenchResult> bench_training(const assembly::RunSpec& run,
                                        const assembly::Material& material, std::size_t threads);

// Milliseconds of one gradient: the lower quartile over repeated calls, one thread.
Result<double> bench_gradient(const assembly::Material& material, std::size_t batch);

}  // namespace ballast::apps
