#include "ballast/learn/torch_twin.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>

#include <utility>
#include <variant>
#include <vector>

#include "ballast/learn/torch_calls.h"
#include "ballast/nn/gradient.h"

namespace ballast::learn {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors views_of(std::span<const nn::NetworkTensor> tensors, std::span<const float> values) {
  Tensors views;
  for (const nn::NetworkTensor& tensor : tensors) {
    const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
    views.push_back(view_of(values.data() + tensor.offset, shape));
  }
  return views;
}

// One forward pass: takes the tensors of the layers one after another.
class Pass {
 public:
  // Without statistics batch normalisation moves none.
  Pass(const Tensors& parameters, const Tensors& statistics, bool is_training)
      : parameters_(parameters), statistics_(statistics), is_training_(is_training) {}

  at::Tensor run(const nn::Network& network, at::Tensor x) {
    for (const nn::Step& step : network.steps()) {
      x = std::visit([&](const auto& layer) { return apply(layer, x); }, step.layer);
    }
    return x;
  }

 private:
  at::Tensor apply(const nn::Conv2d& conv, const at::Tensor& x) {
    const at::Tensor weight = next_parameter();
    const at::Tensor bias = conv.bias ? next_parameter() : at::Tensor();
    return at::conv2d(x, weight, bias, /*stride=*/1, static_cast<std::int64_t>(conv.padding));
  }

  at::Tensor apply(const nn::Linear& linear, const at::Tensor& x) {
    const at::Tensor weight = next_parameter();
    return at::linear(x, weight, linear.bias ? next_parameter() : at::Tensor());
  }

  at::Tensor apply(const nn::BatchNorm&, const at::Tensor& x) {
    const at::Tensor weight = next_parameter(), bias = next_parameter();
    at::Tensor mean, variance;
    if (!statistics_.empty()) {
      mean = statistics_[statistic_++];
      variance = statistics_[statistic_++];
    }
    const bool is_single = is_training_ && x.numel() == x.size(1);
    if (is_single && mean.defined()) move_by_single_values(x, mean, variance);
    if (is_single) mean = variance = at::Tensor();
    return at::batch_norm(x, weight, bias, mean, variance, is_training_, nn::kBatchNormMomentum,
                          nn::kBatchNormEpsilon, /*cudnn_enabled=*/false);
  }

  // LibTorch would divide the variance of one value by 0.
  void move_by_single_values(const at::Tensor& x, at::Tensor& mean, at::Tensor& variance) {
    const at::NoGradGuard no_gradients;
    mean.lerp_(x.reshape(mean.sizes()), nn::kBatchNormMomentum);
    variance.mul_(1.0 - nn::kBatchNormMomentum);
  }

  at::Tensor apply(const nn::Relu&, const at::Tensor& x) { return x.relu(); }
  at::Tensor apply(const nn::MaxPool&, const at::Tensor& x) { return at::max_pool2d(x, {2, 2}); }
  at::Tensor apply(const nn::Flatten&, const at::Tensor& x) { return x.flatten(1); }

  at::Tensor next_parameter() { return parameters_[parameter_++]; }

  const Tensors& parameters_;
  const Tensors& statistics_;
  bool is_training_;
  std::size_t parameter_ = 0;
  std::size_t statistic_ = 0;
};

class Twin final : public TorchNetwork {
 public:
  explicit Twin(std::shared_ptr<const nn::Network> network) : network_(std::move(network)) {}

  Result<double> gradient(std::span<const float> model, const TorchBatch& batch, std::uint64_t,
                          std::span<float> out, std::span<float> statistics) const override {
    return without_exceptions("LibTorch", [&] {
      const OneThread one_thread;
      const Tensors parameters = views_of(network_->parameters(), model);
      for (at::Tensor parameter : parameters) parameter.requires_grad_(true);
      const auto found = differentiate(run(parameters, statistics, batch, true), batch, parameters);
      const Tensors gradients = views_of(network_->parameters(), out);
      for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].copy_(found.gradients[i]);
      return found.loss;
    });
  }

  Result<TorchSums> evaluate(std::span<const float> model, std::span<const float> statistics,
                             const TorchBatch& batch) const override {
    return without_exceptions("LibTorch", [&] {
      const OneThread one_thread;
      const at::NoGradGuard no_gradients;
      const Tensors parameters = views_of(network_->parameters(), model);
      return sums_of(run(parameters, statistics, batch, false), batch);
    });
  }

 private:
  at::Tensor run(const Tensors& parameters, std::span<const float> statistics,
                 const TorchBatch& batch, bool is_training) const {
    const Tensors moved =
        statistics.empty() ? Tensors() : views_of(network_->statistics(), statistics);
    return Pass(parameters, moved, is_training).run(*network_, images_of(batch));
  }

  std::shared_ptr<const nn::Network> network_;
};

}  // namespace

std::shared_ptr<const TorchNetwork> make_twin_network(std::shared_ptr<const nn::Network> network) {
  return std::make_shared<Twin>(std::move(network));
}

}  // namespace ballast::learn
