#pragma once
// The values a network starts from.

#include <cstdint>
#include <span>

#include "ballast/nn/network.h"

namespace ballast::nn {

// PyTorch's default initialisation: the weights and biases of a convolution or a linear layer are
// uniform on [-1/sqrt(n), 1/sqrt(n)), n the number of inputs of one output; those of batch
// normalisation are 1 and 0.
//
// Requires: parameters.size() == network.parameter_count().
// Determinism: a function of the network and the seed; each tensor has a stream of its own.
void initialise(const Network& network, std::uint64_t seed, std::span<float> parameters);

// Running means 0, running variances 1.
// Requires: statistics.size() == network.statistic_count().
void initialise_statistics(const Network& network, std::span<float> statistics);

}  // namespace ballast::nn
