#include "ballast/learn/network_slots.h"

#include "ballast/nn/initialise.h"

namespace ballast::learn {

std::vector<TensorSlot> slots_of(std::span<const nn::Tensor> tensors) {
  std::vector<TensorSlot> slots;
  slots.reserve(tensors.size());
  for (const nn::Tensor& tensor : tensors) {
    slots.push_back({tensor.name, tensor.shape, tensor.offset});
  }
  return slots;
}

data::Shape input_of(const nn::Network& network) {
  const nn::Shape& input = network.input();
  return {.channels = input.channels, .height = input.height, .width = input.width};
}

int class_count_of(const nn::Network& network) { return static_cast<int>(network.classes()); }

std::vector<float> initial_parameters_of(const nn::Network& network, std::uint64_t seed) {
  std::vector<float> parameters(network.parameter_count());
  nn::initialise(network, seed, parameters);
  return parameters;
}

std::vector<float> initial_statistics_of(const nn::Network& network) {
  std::vector<float> statistics(network.statistic_count());
  nn::initialise_statistics(network, statistics);
  return statistics;
}

}  // namespace ballast::learn
