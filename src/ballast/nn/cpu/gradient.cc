// The fast body of gradient.h: forward with the samples in the SIMD lanes, backward sample by
// sample (plan.h says how the two layouts differ, conv_backward-inl.h why). Compiled once per SIMD
// target.

#include "ballast/nn/gradient.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/nn/cpu/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/nn/cpu/gradient.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ballast/nn/cpu/batch_norm-inl.h"
#include "ballast/nn/cpu/conv_backward-inl.h"
#include "ballast/nn/cpu/conv_forward-inl.h"
#include "ballast/nn/cpu/linear-inl.h"
#include "ballast/nn/cpu/pointwise-inl.h"
#include "ballast/nn/cpu/transpose-inl.h"

#ifndef BALLAST_NN_CPU_GRADIENT_ONCE_
#define BALLAST_NN_CPU_GRADIENT_ONCE_
namespace ballast::nn::cpu {

// The arguments of one call, with the statistics as a pointer that is null where there are none.
struct Call {
  const Network& network;
  const float* parameters;
  Batch batch;
  float* gradient_out;
  float* statistics;
  bool is_training;
  NetworkWorkspace& workspace;
};

// The logarithm of the sum of the exponentials.
inline double log_sum_exp(std::span<const float> outputs) {
  const double largest = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0.0;
  for (const float output : outputs) sum += std::exp(output - largest);
  return std::log(sum) + largest;
}

// Replaces the outputs of one sample by `scale` times the gradient of its loss; returns the loss.
inline double loss_and_gradient(std::span<float> outputs, std::size_t label, double scale) {
  const double total = log_sum_exp(outputs);
  const double loss = total - outputs[label];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double wanted = i == label ? 1.0 : 0.0;
    outputs[i] = static_cast<float>(scale * (std::exp(outputs[i] - total) - wanted));
  }
  return loss;
}

}  // namespace ballast::nn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {

using Wide = hn::CappedTag<float, 16>;
using Narrow = hn::CappedTag<float, 8>;

// Cuts the batch into tiles with one sample per lane; lanes without a sample hold zeros.
inline void load_images(const BatchPlan& plan, const Batch& batch, std::size_t size,
                        float* images) {
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    const std::size_t first = tile * plan.lanes;
    const std::size_t samples = std::min(plan.lanes, plan.samples - first);
    float* to = images + tile * size * plan.lanes;
    if (samples < plan.lanes) std::fill_n(to, size * plan.lanes, 0.0f);
    transpose({batch.images.data() + first * size, size}, samples, size, {to, plan.lanes});
  }
}

// A buffer in lanes of `size` values per sample, sample by sample.
inline void to_samples(const BatchPlan& plan, const float* lanes, std::size_t size,
                       float* samples) {
  for (std::size_t first = 0; first < plan.samples; first += plan.lanes) {
    transpose({lanes + first * size, plan.lanes}, size, std::min(plan.lanes, plan.samples - first),
              {samples + first * size, size});
  }
}

template <class D>
void forward(D d, const BatchPlan& plan, const Call& call, float* floats) {
  load_images(plan, call.batch, call.network.input().size(), floats + plan.images);
  std::size_t previous = plan.images;
  for (const Stage& stage : plan.active()) {
    switch (stage.kind) {
      case StageKind::kConv:
      case StageKind::kConvReluPool:
        conv_forward(d, plan, stage, call.parameters, floats + previous, floats);
        break;
      case StageKind::kLinear:
        linear_forward(d, plan, stage, call.parameters, floats);
        break;
      case StageKind::kBatchNorm:
        batch_norm_forward(d, plan, stage, call.parameters, call.is_training, call.statistics,
                           floats);
        break;
      case StageKind::kRelu:
        relu_forward(d, plan, stage, floats);
        break;
      case StageKind::kMaxPool:
        pool_forward(d, plan, stage, floats);
        break;
    }
    previous = stage.output;
  }
}

// Gradients come in through gradient_out and leave through gradient_in, unless that is null.
template <class D>
void backward_stage(D d, const BatchPlan& plan, const Stage& stage, const Call& call,
                    const float* gradient_out, float* gradient_in, float* floats,
                    std::int32_t* integers) {
  float* samples = floats + plan.shared.samples;
  float* codes = floats + plan.shared.codes;
  switch (stage.kind) {
    case StageKind::kConv:
    case StageKind::kConvReluPool:
      return conv_backward(plan, stage, call.parameters, gradient_out, gradient_in,
                           call.gradient_out, floats, integers);
    case StageKind::kLinear:
      to_samples(plan, floats + stage.input, stage.in.size(), samples);
      return linear_backward(d, plan, stage, call.parameters, gradient_out, gradient_in,
                             call.gradient_out, samples);
    case StageKind::kBatchNorm:
      to_samples(plan, floats + stage.input, stage.in.size(), samples);
      return batch_norm_backward(d, plan, stage, call.parameters, gradient_out, gradient_in,
                                 call.gradient_out, samples, floats);
    case StageKind::kRelu:
      to_samples(plan, floats + stage.output, stage.out.size(), codes);
      return relu_backward(d, plan, stage, gradient_out, gradient_in, codes);
    case StageKind::kMaxPool:
      to_samples(plan, floats + stage.winners, stage.out.size(), codes);
      return pool_backward(plan, stage, gradient_out, gradient_in, codes);
  }
}

inline bool has_parameters(const Stage& stage) {
  return stage.kind != StageKind::kRelu && stage.kind != StageKind::kMaxPool;
}

template <class D>
void backward(D d, const BatchPlan& plan, const Call& call, float* floats, std::int32_t* integers) {
  const auto stages = plan.active();
  // Nothing before the first parameter needs a gradient.
  const auto first = static_cast<std::size_t>(
      std::find_if(stages.begin(), stages.end(), has_parameters) - stages.begin());
  float* gradient_out = floats + plan.shared.gradient_out;
  float* gradient_in = floats + plan.shared.gradient_in;
  for (std::size_t i = stages.size(); i-- > first;) {
    backward_stage(d, plan, stages[i], call, gradient_out, i > first ? gradient_in : nullptr,
                   floats, integers);
    std::swap(gradient_out, gradient_in);
  }
}

template <class D>
double gradient_in_lanes(D d, const Call& call) {
  const BatchPlan plan(call.network, call.batch.size(), hn::Lanes(d));
  float* floats = call.workspace.floats(plan.float_count).data();
  std::int32_t* integers = call.workspace.integers(plan.integer_count).data();
  forward(d, plan, call, floats);
  const std::size_t classes = call.network.classes();
  const std::span<float> outputs(floats + plan.shared.gradient_out, plan.samples * classes);
  to_samples(plan, floats + plan.outputs, classes, outputs.data());
  const double scale = 1.0 / static_cast<double>(plan.samples);
  double loss = 0.0;
  for (std::size_t s = 0; s < plan.samples; ++s) {
    loss += loss_and_gradient(outputs.subspan(s * classes, classes), call.batch.labels[s], scale);
  }
  backward(d, plan, call, floats, integers);
  return loss * scale;
}

template <class D>
NetworkEvaluation evaluate_in_lanes(D d, const Call& call) {
  const BatchPlan plan(call.network, call.batch.size(), hn::Lanes(d));
  float* floats = call.workspace.floats(plan.float_count).data();
  forward(d, plan, call, floats);
  const std::size_t classes = call.network.classes();
  const std::span<float> outputs(floats + plan.shared.gradient_out, plan.samples * classes);
  to_samples(plan, floats + plan.outputs, classes, outputs.data());
  NetworkEvaluation evaluation;
  for (std::size_t s = 0; s < plan.samples; ++s) {
    const auto sample = outputs.subspan(s * classes, classes);
    const std::size_t label = call.batch.labels[s];
    const auto largest = std::max_element(sample.begin(), sample.end()) - sample.begin();
    if (static_cast<std::size_t>(largest) == label) ++evaluation.correct;
    evaluation.loss_sum += log_sum_exp(sample) - sample[label];
  }
  return evaluation;
}

// Half-width vectors where full ones would leave half of the last tile's lanes empty.
inline bool prefers_narrow(std::size_t samples) {
  const std::size_t wide = hn::Lanes(Wide()), narrow = hn::Lanes(Narrow());
  return (samples + narrow - 1) / narrow * narrow < (samples + wide - 1) / wide * wide;
}

double run_gradient(const Call& call) {
  if (prefers_narrow(call.batch.size())) return gradient_in_lanes(Narrow(), call);
  return gradient_in_lanes(Wide(), call);
}

NetworkEvaluation run_evaluate(const Call& call) {
  if (prefers_narrow(call.batch.size())) return evaluate_in_lanes(Narrow(), call);
  return evaluate_in_lanes(Wide(), call);
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::nn {
namespace cpu {

HWY_EXPORT(run_gradient);
HWY_EXPORT(run_evaluate);

namespace {

double dispatch_gradient(const Call& call) { return HWY_DYNAMIC_DISPATCH(run_gradient)(call); }
NetworkEvaluation dispatch_evaluate(const Call& call) {
  return HWY_DYNAMIC_DISPATCH(run_evaluate)(call);
}

// Samples evaluated at once: enough to fill the lanes, few enough for the second-level cache.
constexpr std::size_t kEvaluationBatch = 16;

void check_batch(const Network& network, std::span<const float> parameters, const Batch& batch) {
  BALLAST_CHECK(parameters.size() == network.parameter_count(), "one value per parameter");
  BALLAST_CHECK(batch.images.size() == batch.size() * network.input().size(), "images and labels");
  const auto is_class = [&](std::uint8_t label) { return label < network.classes(); };
  BALLAST_CHECK(std::all_of(batch.labels.begin(), batch.labels.end(), is_class), "labels");
}

}  // namespace
}  // namespace cpu

double gradient(const Network& network, std::span<const float> parameters, const Batch& batch,
                std::span<float> gradient_out, std::span<float> statistics_in_out,
                NetworkWorkspace& workspace) {
  cpu::check_batch(network, parameters, batch);
  BALLAST_CHECK(batch.size() >= 1, "a gradient needs a sample");
  BALLAST_CHECK(gradient_out.size() == parameters.size(), "one value per parameter");
  BALLAST_CHECK(statistics_in_out.empty() || statistics_in_out.size() == network.statistic_count(),
                "all statistics or none");
  const cpu::Call call = {network,
                          parameters.data(),
                          batch,
                          gradient_out.data(),
                          statistics_in_out.empty() ? nullptr : statistics_in_out.data(),
                          true,
                          workspace};
  return cpu::dispatch_gradient(call);
}

NetworkEvaluation evaluate(const Network& network, std::span<const float> parameters,
                           std::span<const float> statistics, const Batch& batch,
                           NetworkWorkspace& workspace) {
  cpu::check_batch(network, parameters, batch);
  BALLAST_CHECK(statistics.size() == network.statistic_count(), "one value per statistic");
  const std::size_t size = network.input().size();
  NetworkEvaluation total;
  for (std::size_t first = 0; first < batch.size(); first += cpu::kEvaluationBatch) {
    const std::size_t count = std::min(cpu::kEvaluationBatch, batch.size() - first);
    const cpu::Call call = {
        network,
        parameters.data(),
        {batch.images.subspan(first * size, count * size), batch.labels.subspan(first, count)},
        nullptr,
        // Only read: evaluation does not move the statistics.
        const_cast<float*>(statistics.data()),
        false,
        workspace};
    const NetworkEvaluation part = cpu::dispatch_evaluate(call);
    total.loss_sum += part.loss_sum;
    total.correct += part.correct;
  }
  return total;
}

}  // namespace ballast::nn
#endif
