#pragma once
// A feed-forward network as a value: its layers, the shape between each two of them, and where each
// tensor lies in the flat parameter vector. The loss is softmax cross-entropy, averaged over the
// batch.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/nn/layer.h"

namespace ballast::nn {

// Limits on what a network read from outside may ask for.
inline constexpr std::size_t kLayersMax = 64;
inline constexpr std::size_t kActivationsMax = std::size_t{1} << 24;  // of one sample, padded
inline constexpr std::size_t kParametersMax = std::size_t{1} << 28;
inline constexpr std::size_t kClassesMax = 256;  // labels are bytes

// One tensor inside a flat vector, named as torch::nn::Sequential names it: "0.weight",
// "1.running_mean".
struct NetworkTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;
  std::size_t step = 0;  // index of its layer

  std::size_t size() const noexcept;
};

// A layer in its place.
struct Step {
  Layer layer;
  LayerShape in;
  LayerShape out;
  std::size_t parameter_offset = 0;  // of its weight; the bias follows
  std::size_t statistic_offset = 0;  // of its running mean; the variance follows
};

struct NetworkSpec {
  LayerShape input;
  std::vector<Layer> layers;
  std::size_t classes = 0;
};

class Network {
 public:
  // Fails if a layer does not fit the shape before it, if the last one does not give one value per
  // class, or if a limit above is passed.
  static Result<Network> make(const NetworkSpec& spec);

  const LayerShape& input() const noexcept { return input_; }
  std::size_t classes() const noexcept { return steps_.back().out.size(); }
  std::span<const Step> steps() const noexcept { return steps_; }

  // Length of the flat parameter vector, and of any gradient.
  std::size_t parameter_count() const noexcept { return parameter_count_; }
  // Length of the flat vector of running statistics; 0 without batch normalisation.
  std::size_t statistic_count() const noexcept { return statistic_count_; }
  // Both in the order of their offsets, without gaps.
  std::span<const NetworkTensor> parameters() const noexcept { return parameters_; }
  std::span<const NetworkTensor> statistics() const noexcept { return statistics_; }

 private:
  Network() = default;
  Status append(const Layer& layer);
  void add_parameter(std::string name, std::vector<std::size_t> shape);
  void add_statistic(std::string name, std::vector<std::size_t> shape);

  LayerShape input_;
  std::vector<Step> steps_;
  std::vector<NetworkTensor> parameters_;
  std::vector<NetworkTensor> statistics_;
  std::size_t parameter_count_ = 0;
  std::size_t statistic_count_ = 0;
};

}  // namespace ballast::nn
