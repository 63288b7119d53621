#pragma once
// What the tests of this room share: small networks of every kind of chain, random batches, and the
// distance between two vectors.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/nn/gradient.h"
#include "ballast/nn/initialise.h"
#include "ballast/nn/network.h"

namespace ballast::nn::testing {

struct NamedNetwork {
  std::string name;
  Network network;
};

inline NamedNetwork named(std::string name, const LayerShape& input, std::vector<Layer> layers,
                          std::size_t classes) {
  return {std::move(name),
          Network::make({.input = input, .layers = std::move(layers), .classes = classes}).value()};
}

// Each layer first, last, fused and alone; odd sizes; more channels than a block and fewer.
inline std::vector<NamedNetwork> small_networks() {
  return {
      named("softmax", {2, 3, 5}, {Flatten{}, Linear{4}}, 4),
      named("softmax without bias", {1, 1, 3}, {Flatten{}, Linear{.features = 2, .bias = false}},
            2),
      named("mlp with batch norm", {1, 5, 5},
            {Flatten{}, Linear{11}, BatchNorm{}, Relu{}, Linear{7}, Relu{}, Linear{3}}, 3),
      named("conv relu pool", {1, 9, 8},
            {Conv2d{.channels = 7, .kernel = 3}, Relu{}, MaxPool{}, Flatten{}, Linear{5}}, 5),
      named("two conv relu pool", {3, 13, 15},
            {Conv2d{.channels = 11, .kernel = 4}, Relu{}, MaxPool{},
             Conv2d{.channels = 6, .kernel = 3, .padding = 1}, Relu{}, MaxPool{}, Flatten{},
             Linear{4}},
            4),
      named("conv pool relu", {2, 7, 7},
            {Conv2d{.channels = 3, .kernel = 2}, MaxPool{}, Relu{}, Flatten{}, Linear{3}}, 3),
      named("padded conv with batch norm", {2, 6, 5},
            {Conv2d{.channels = 9, .kernel = 3, .padding = 2, .bias = false}, BatchNorm{}, Relu{},
             MaxPool{}, Conv2d{.channels = 17, .kernel = 2}, Relu{}, Flatten{}, Linear{3}},
            3),
      named("wide conv", {19, 5, 6},
            {Relu{}, Conv2d{.channels = 13, .kernel = 5, .padding = 2}, Relu{},
             Conv2d{.channels = 3, .kernel = 1}, BatchNorm{}, Flatten{}, Linear{6}},
            6),
      named("pool and norm first", {2, 9, 7},
            {MaxPool{}, BatchNorm{}, Conv2d{.channels = 4, .kernel = 3}, Flatten{}}, 8),
  };
}

// One layer that fits behind the shape, of a kind and size drawn at random.
inline Layer random_layer(const LayerShape& in, Rng& rng) {
  const std::size_t smallest = std::min(in.height, in.width);
  switch (rng.below(in.positions() > 1 ? 6 : 4)) {
    case 0:
      return BatchNorm{};
    case 1:
      return Relu{};
    case 2:
      return Flatten{};
    case 3:
      if (in.positions() == 1) return Linear{1 + rng.below(40), rng.below(4) > 0};
      return Relu{};
    case 4:
      if (smallest >= 2) return MaxPool{};
      return Flatten{};
    default:
      const std::size_t kernel = 1 + rng.below(std::min<std::size_t>(smallest, 6));
      return Conv2d{1 + rng.below(24), kernel, rng.below(std::min<std::size_t>(kernel, 3)),
                    rng.below(4) > 0};
  }
}

// Up to seven layers on images of up to 12 x 12, then a linear one.
inline Network random_network(std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t classes = 2 + rng.below(9);
  NetworkSpec spec = {{1 + rng.below(11), 1 + rng.below(12), 1 + rng.below(12)}, {}, classes};
  LayerShape shape = spec.input;
  for (std::size_t count = rng.below(8); spec.layers.size() < count;) {
    spec.layers.push_back(random_layer(shape, rng));
    NetworkSpec so_far = spec;
    so_far.layers.emplace_back(Flatten{});
    so_far.layers.emplace_back(Linear{classes});
    shape = Network::make(so_far).value().steps()[spec.layers.size() - 1].out;
  }
  spec.layers.emplace_back(Flatten{});
  spec.layers.emplace_back(Linear{classes});
  return Network::make(spec).value();
}

// Owns what a Batch looks at.
struct RandomBatch {
  std::vector<float> images;
  std::vector<std::uint8_t> labels;

  Batch view() const { return {images, labels}; }
};

inline RandomBatch random_batch(const Network& network, std::size_t samples, std::uint64_t seed) {
  Rng rng(seed);
  RandomBatch batch;
  for (std::size_t i = 0; i < samples * network.input().size(); ++i) {
    batch.images.push_back(static_cast<float>(rng.normal()));
  }
  for (std::size_t i = 0; i < samples; ++i) {
    batch.labels.push_back(static_cast<std::uint8_t>(rng.below(network.classes())));
  }
  return batch;
}

// Initialised, then moved a little, so that batch norm's weights and biases are not all alike.
inline std::vector<float> random_parameters(const Network& network, std::uint64_t seed) {
  std::vector<float> parameters(network.parameter_count());
  initialise(network, seed, parameters);
  Rng rng(seed + 1);
  for (float& parameter : parameters) parameter += static_cast<float>(0.1 * rng.normal());
  return parameters;
}

// |left - right| / |right|, in the Euclidean norm.
template <typename Left, typename Right>
double relative_error(const Left& left, const Right& right) {
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double delta = static_cast<double>(left[i]) - static_cast<double>(right[i]);
    difference += delta * delta;
    size += static_cast<double>(right[i]) * static_cast<double>(right[i]);
  }
  return std::sqrt(difference) / std::sqrt(size);
}

}  // namespace ballast::nn::testing
