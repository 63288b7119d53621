#include "ballast/learn/network_slots.h"

#include <fmt/core.h>

#include <variant>

#include "ballast/nn/initialise.h"

namespace ballast::learn {
namespace {

// One layer in its place as the call of PyTorch's module.
struct LayerText {
  const nn::Step& step;

  static std::string_view without_bias(bool has_bias) { return has_bias ? "" : ", bias=False"; }
  std::string operator()(const nn::Conv2d& conv) const {
    return fmt::format("Conv2d({}, {}, kernel_size={}, padding={}{})", step.in.channels,
                       conv.channels, conv.kernel, conv.padding, without_bias(conv.bias));
  }
  std::string operator()(const nn::Linear& linear) const {
    return fmt::format("Linear({}, {}{})", step.in.size(), linear.features,
                       without_bias(linear.bias));
  }
  std::string operator()(const nn::BatchNorm&) const {
    return fmt::format("BatchNorm{}d({})", step.in.positions() > 1 ? 2 : 1, step.in.channels);
  }
  std::string operator()(const nn::Relu&) const { return "ReLU()"; }
  std::string operator()(const nn::MaxPool&) const { return "MaxPool2d(2)"; }
  std::string operator()(const nn::Flatten&) const { return "Flatten()"; }
};

}  // namespace

std::vector<std::string> layer_texts(const nn::Network& network) {
  std::vector<std::string> texts;
  for (const nn::Step& step : network.steps()) {
    texts.push_back(std::visit(LayerText{step}, step.layer));
  }
  return texts;
}

std::vector<TensorSlot> slots_of(std::span<const nn::NetworkTensor> tensors) {
  std::vector<TensorSlot> slots;
  slots.reserve(tensors.size());
  for (const nn::NetworkTensor& tensor : tensors) {
    slots.push_back({tensor.name, tensor.shape, tensor.offset});
  }
  return slots;
}

data::Shape input_of(const nn::Network& network) {
  const nn::LayerShape& input = network.input();
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
