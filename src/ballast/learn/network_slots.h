#pragma once
// A network's tensors and start, as a Model shows them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

std::vector<TensorSlot> slots_of(std::span<const nn::NetworkTensor> tensors);
std::vector<std::string> layer_texts(const nn::Network& network);
data::Shape input_of(const nn::Network& network);
int class_count_of(const nn::Network& network);
std::vector<float> initial_parameters_of(const nn::Network& network, std::uint64_t seed);
std::vector<float> initial_statistics_of(const nn::Network& network);

}  // namespace ballast::learn
