#pragma once
// The layers a network may chain, as plain values. Their parameters, order and layout are those of
// the PyTorch modules of the same names, so that a twin built there can hold the same vector.

#include <cstddef>
#include <variant>

namespace ballast::nn {

// Of one sample. A flattened activation is {features, 1, 1}.
struct LayerShape {
  std::size_t channels = 0;
  std::size_t height = 1;
  std::size_t width = 1;

  constexpr std::size_t positions() const noexcept { return height * width; }
  constexpr std::size_t size() const noexcept { return channels * positions(); }
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

// Cross-correlation with a square kernel, stride 1 and zero padding on all four sides.
// Parameters: weight [channels, in, kernel, kernel], then bias [channels].
struct Conv2d {
  std::size_t channels = 0;
  std::size_t kernel = 0;
  std::size_t padding = 0;
  bool bias = true;
};

// Parameters: weight [features, in], then bias [features]. Takes flattened activations only.
struct Linear {
  std::size_t features = 0;
  bool bias = true;
};

// BatchNorm2d on images, BatchNorm1d on flattened activations.
// Parameters: weight [channels], bias [channels]; statistics: running_mean, running_var [channels].
struct BatchNorm {};

struct Relu {};

// Largest value of each 2x2 block, stride 2; an odd last row or column is left out.
struct MaxPool {};

struct Flatten {};

using Layer = std::variant<Conv2d, Linear, BatchNorm, Relu, MaxPool, Flatten>;

}  // namespace ballast::nn
