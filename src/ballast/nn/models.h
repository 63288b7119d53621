#pragma once
// The networks the experiments name.

#include <cstddef>

#include "ballast/nn/network.h"

namespace ballast::nn {

// The two convolutional networks of Dahan and Levy 2024, appendix "Experiments": 28 x 28 grey
// images (66,230 parameters; the paper trains it with batches of 16) and 32 x 32 colour images
// (89,730 parameters; batches of 8). Ten classes each.
Network mnist_cnn();
Network cifar10_cnn();

// Softmax regression: one linear layer on the pixels.
Result<Network> softmax(const LayerShape& input, std::size_t classes);

// One hidden layer of ReLUs.
Result<Network> mlp(const LayerShape& input, std::size_t hidden, std::size_t classes);

}  // namespace ballast::nn
