#pragma once
// Loss, gradient and accuracy of a network on a batch. The fast body is in cpu/ (the samples of the
// batch are the SIMD lanes); reference/ has the slow twin in double precision.
//
// Thread-safety: pure functions of their arguments; threads need a Workspace each.
// Determinism: bit-identical from call to call on one machine. Machines with different vector
// widths add in different orders and agree to float rounding.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/nn/network.h"
#include "ballast/nn/workspace.h"

namespace ballast::nn {

// As PyTorch's defaults: running = (1 - momentum) * running + momentum * batch.
inline constexpr double kBatchNormMomentum = 0.1;
inline constexpr double kBatchNormEpsilon = 1e-5;

// Samples one after another, each channel by channel, row by row (NCHW), and their classes.
struct Batch {
  std::span<const float> images;
  std::span<const std::uint8_t> labels;

  std::size_t size() const noexcept { return labels.size(); }
};

// Writes the gradient of the mean loss to gradient_out and returns that loss. Batch normalisation
// uses the statistics of the batch and, if statistics_in_out is not empty, moves the running ones
// by them (the variance unbiased). A channel with a single value is normalised to 0.
//
// Requires: batch.size() >= 1; batch.images has input().size() values per label; every label is
// below classes(); parameters and gradient_out have parameter_count() values; statistics_in_out is
// empty or has statistic_count().
// Cost: allocates only while the workspace has not yet seen so large a batch or network.
double gradient(const Network& network, std::span<const float> parameters, const Batch& batch,
                std::span<float> gradient_out, std::span<float> statistics_in_out,
                NetworkWorkspace& workspace);

struct NetworkEvaluation {
  double loss_sum = 0.0;
  std::size_t correct = 0;  // samples whose largest output, the first of equals, is their class
};

// Runs the network on any number of samples, none included; batch normalisation uses the running
// statistics.
// Requires: as above, and statistics.size() == statistic_count().
// Cost: 16 samples at a time, so the workspace stays as small as for a batch of 16.
NetworkEvaluation evaluate(const Network& network, std::span<const float> parameters,
                           std::span<const float> statistics, const Batch& batch,
                           NetworkWorkspace& workspace);

}  // namespace ballast::nn
