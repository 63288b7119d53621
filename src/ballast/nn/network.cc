#include "ballast/nn/network.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <utility>

namespace ballast::nn {
namespace {

// No extent may be so large that the product of two overflows before it is compared with a limit.
constexpr std::size_t kExtentMax = kActivationsMax;

bool is_flat(const LayerShape& shape) { return shape.positions() == 1; }

Result<LayerShape> checked(const LayerShape& shape) {
  const bool fits = shape.channels >= 1 && shape.height >= 1 && shape.width >= 1 &&
                    shape.channels <= kExtentMax && shape.height <= kExtentMax / shape.width &&
                    shape.positions() <= kActivationsMax / shape.channels;
  if (!fits) {
    return invalid_argument(fmt::format("an activation of {} x {} x {} is empty or above {} values",
                                        shape.channels, shape.height, shape.width,
                                        kActivationsMax));
  }
  return shape;
}

Result<LayerShape> shape_after(const Conv2d& conv, const LayerShape& in) {
  if (conv.kernel == 0 || conv.padding >= conv.kernel || conv.kernel > kExtentMax) {
    return invalid_argument(fmt::format(
        "a kernel of {} with padding {}: the padding must be smaller", conv.kernel, conv.padding));
  }
  const std::size_t height = in.height + 2 * conv.padding;
  const std::size_t width = in.width + 2 * conv.padding;
  if (height < conv.kernel || width < conv.kernel) {
    return invalid_argument(
        fmt::format("a kernel of {} does not fit into {} x {}", conv.kernel, height, width));
  }
  BALLAST_TRY(const LayerShape padded, checked({in.channels, height, width}));
  return checked({conv.channels, padded.height - conv.kernel + 1, padded.width - conv.kernel + 1});
}

Result<LayerShape> shape_after(const Linear& linear, const LayerShape& in) {
  if (!is_flat(in)) {
    return invalid_argument(fmt::format("linear takes flattened activations, not {} x {} x {}",
                                        in.channels, in.height, in.width));
  }
  return checked({linear.features});
}

Result<LayerShape> shape_after(const MaxPool&, const LayerShape& in) {
  if (in.height < 2 || in.width < 2) {
    return invalid_argument(
        fmt::format("max pooling needs 2 x 2, not {} x {}", in.height, in.width));
  }
  return LayerShape{in.channels, in.height / 2, in.width / 2};
}

Result<LayerShape> shape_after(const Flatten&, const LayerShape& in) {
  return LayerShape{in.size()};
}
Result<LayerShape> shape_after(const BatchNorm&, const LayerShape& in) { return in; }
Result<LayerShape> shape_after(const Relu&, const LayerShape& in) { return in; }

using Shapes = std::vector<std::vector<std::size_t>>;

Shapes parameter_shapes(const Conv2d& conv, const LayerShape& in) {
  Shapes shapes = {{conv.channels, in.channels, conv.kernel, conv.kernel}};
  if (conv.bias) shapes.push_back({conv.channels});
  return shapes;
}

Shapes parameter_shapes(const Linear& linear, const LayerShape& in) {
  Shapes shapes = {{linear.features, in.channels}};
  if (linear.bias) shapes.push_back({linear.features});
  return shapes;
}

Shapes parameter_shapes(const BatchNorm&, const LayerShape& in) {
  return {{in.channels}, {in.channels}};
}
Shapes parameter_shapes(const Relu&, const LayerShape&) { return {}; }
Shapes parameter_shapes(const MaxPool&, const LayerShape&) { return {}; }
Shapes parameter_shapes(const Flatten&, const LayerShape&) { return {}; }

// The product, or more than kParametersMax where it would overflow.
std::size_t bounded_size(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) {
    if (extent > kParametersMax / size) return kParametersMax + 1;
    size *= extent;
  }
  return size;
}

}  // namespace

std::size_t NetworkTensor::size() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

Result<Network> Network::make(const NetworkSpec& spec) {
  if (spec.layers.empty() || spec.layers.size() > kLayersMax) {
    return invalid_argument(
        fmt::format("a network has 1 to {} layers, not {}", kLayersMax, spec.layers.size()));
  }
  if (spec.classes == 0 || spec.classes > kClassesMax) {
    return invalid_argument(
        fmt::format("a network has 1 to {} classes, not {}", kClassesMax, spec.classes));
  }
  Network network;
  BALLAST_TRY(network.input_, checked(spec.input));
  for (const Layer& layer : spec.layers) {
    if (Status added = network.append(layer); !added) {
      return invalid_argument(
          fmt::format("layer {}: {}", network.steps_.size(), added.error().message));
    }
  }
  const LayerShape& out = network.steps_.back().out;
  if (!is_flat(out) || out.channels != spec.classes) {
    return invalid_argument(fmt::format("the last layer gives {} x {} x {} values for {} classes",
                                        out.channels, out.height, out.width, spec.classes));
  }
  return network;
}

Status Network::append(const Layer& layer) {
  const LayerShape in = steps_.empty() ? input_ : steps_.back().out;
  BALLAST_TRY(const LayerShape out,
              std::visit([&](const auto& kind) { return shape_after(kind, in); }, layer));
  const Shapes shapes =
      std::visit([&](const auto& kind) { return parameter_shapes(kind, in); }, layer);
  std::size_t added = 0;
  for (const auto& shape : shapes) added += bounded_size(shape);
  if (added > kParametersMax - parameter_count_) {
    return invalid_argument(fmt::format("more than {} parameters", kParametersMax));
  }
  const std::size_t index = steps_.size();
  steps_.push_back({layer, in, out, parameter_count_, statistic_count_});
  if (!shapes.empty()) add_parameter(fmt::format("{}.weight", index), shapes[0]);
  if (shapes.size() == 2) add_parameter(fmt::format("{}.bias", index), shapes[1]);
  if (std::holds_alternative<BatchNorm>(layer)) {
    add_statistic(fmt::format("{}.running_mean", index), {in.channels});
    add_statistic(fmt::format("{}.running_var", index), {in.channels});
  }
  return {};
}

void Network::add_parameter(std::string name, std::vector<std::size_t> shape) {
  parameters_.push_back({std::move(name), std::move(shape), parameter_count_, steps_.size() - 1});
  parameter_count_ += parameters_.back().size();
}

void Network::add_statistic(std::string name, std::vector<std::size_t> shape) {
  statistics_.push_back({std::move(name), std::move(shape), statistic_count_, steps_.size() - 1});
  statistic_count_ += statistics_.back().size();
}

}  // namespace ballast::nn
