// Batch normalisation: y = weight * (x - mean) / sqrt(variance + epsilon) + bias, channel by
// channel. Included once per SIMD target.

#if defined(BALLAST_NN_CPU_BATCH_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_BATCH_NORM_INL_H_
#undef BALLAST_NN_CPU_BATCH_NORM_INL_H_
#else
#define BALLAST_NN_CPU_BATCH_NORM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ballast/nn/cpu/plan.h"
#include "ballast/nn/gradient.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Moments {
  float mean;
  float variance;  // biased
};

// Sum over the real samples of f(x - shift) for f the identity or the square.
template <bool kSquare, class D>
double channel_sum(D d, const BatchPlan& plan, const Stage& stage, std::size_t channel, float shift,
                   const float* floats) {
  const std::size_t positions = stage.in.positions(), lanes = plan.lanes;
  double total = 0.0;
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    const float* values =
        floats + stage.input + (tile * stage.in.channels + channel) * positions * lanes;
    auto sum = hn::Zero(d);
    for (std::size_t p = 0; p < positions; ++p) {
      const auto value = hn::Sub(hn::Load(d, values + p * lanes), hn::Set(d, shift));
      sum = kSquare ? hn::MulAdd(value, value, sum) : hn::Add(sum, value);
    }
    const auto is_real = hn::FirstN(d, plan.samples - tile * lanes);
    total += hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(is_real, sum)));
  }
  return total;
}

template <class D>
Moments batch_moments(D d, const BatchPlan& plan, const Stage& stage, std::size_t channel,
                      const float* floats) {
  const double count = static_cast<double>(plan.samples * stage.in.positions());
  const auto mean =
      static_cast<float>(channel_sum<false>(d, plan, stage, channel, 0.0f, floats) / count);
  const double squares = channel_sum<true>(d, plan, stage, channel, mean, floats);
  return {mean, static_cast<float>(squares / count)};
}

inline void move_running(const Moments& moments, std::size_t count, float& mean, float& variance) {
  constexpr auto kMomentum = static_cast<float>(kBatchNormMomentum);
  const auto n = static_cast<float>(count);
  const float unbiased = count > 1 ? moments.variance * (n / (n - 1.0f)) : moments.variance;
  mean += kMomentum * (moments.mean - mean);
  variance += kMomentum * (unbiased - variance);
}

// Subtracting the mean first keeps the digits of channels whose spread is small beside it.
template <class D>
void normalise_channel(D d, const BatchPlan& plan, const Stage& stage, std::size_t channel,
                       float mean, float scale, float bias, float* floats) {
  const std::size_t count = stage.in.positions() * plan.lanes;
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    const std::size_t first = (tile * stage.in.channels + channel) * count;
    for (std::size_t i = first; i < first + count; i += plan.lanes) {
      const auto centred = hn::Sub(hn::Load(d, floats + stage.input + i), hn::Set(d, mean));
      hn::Store(hn::MulAdd(centred, hn::Set(d, scale), hn::Set(d, bias)), d,
                floats + stage.output + i);
    }
  }
}

// Training: the moments of the batch are used, kept for the backward pass, and move the running
// ones if there are any. Otherwise the running ones are used.
template <class D>
void batch_norm_forward(D d, const BatchPlan& plan, const Stage& stage, const float* parameters,
                        bool is_training, float* running, float* floats) {
  const std::size_t channels = stage.in.channels;
  const float* weights = parameters + stage.parameter_offset;
  float* running_mean = running ? running + stage.statistic_offset : nullptr;
  for (std::size_t c = 0; c < channels; ++c) {
    Moments moments;
    if (is_training) {
      moments = batch_moments(d, plan, stage, c, floats);
      if (running) {
        move_running(moments, plan.samples * stage.in.positions(), running_mean[c],
                     running_mean[channels + c]);
      }
    } else {
      moments = {running_mean[c], running_mean[channels + c]};
    }
    const float inverse =
        1.0f / std::sqrt(moments.variance + static_cast<float>(kBatchNormEpsilon));
    floats[stage.moments + c] = moments.mean;
    floats[stage.moments + channels + c] = inverse;
    normalise_channel(d, plan, stage, c, moments.mean, weights[c] * inverse, weights[channels + c],
                      floats);
  }
}

// With h = (x - mean) * inverse over n values: dx = weight * inverse * (dy - mean(dy) - h mean(dy
// h)).
template <class D>
void batch_norm_backward(D d, const BatchPlan& plan, const Stage& stage, const float* parameters,
                         const float* gradient_out, float* gradient_in, float* parameter_gradient,
                         const float* samples, const float* floats) {
  const std::size_t channels = stage.in.channels, positions = stage.in.positions();
  const std::size_t lanes = hn::Lanes(d);
  const float count = static_cast<float>(plan.samples * positions);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = hn::Set(d, floats[stage.moments + c]);
    const auto inverse = hn::Set(d, floats[stage.moments + channels + c]);
    auto sum = hn::Zero(d), sum_normal = hn::Zero(d);
    const auto for_each_vector = [&](auto&& visit) HWY_ATTR {
      for (std::size_t s = 0; s < plan.samples; ++s) {
        for (std::size_t p = 0; p < positions; p += lanes) {
          const std::size_t at = (s * channels + c) * positions + p;
          const auto value = hn::LoadU(d, samples + at);
          visit(at, hn::FirstN(d, positions - p), hn::LoadU(d, gradient_out + at),
                hn::Mul(hn::Sub(value, mean), inverse));
        }
      }
    };
    for_each_vector([&](std::size_t, auto is_real, auto gradient, auto normal) HWY_ATTR {
      const auto real = hn::IfThenElseZero(is_real, gradient);
      sum = hn::Add(sum, real);
      sum_normal = hn::Add(sum_normal, hn::IfThenElseZero(is_real, hn::Mul(real, normal)));
    });
    const float weight_gradient = hn::GetLane(hn::SumOfLanes(d, sum_normal));
    const float bias_gradient = hn::GetLane(hn::SumOfLanes(d, sum));
    parameter_gradient[stage.parameter_offset + c] = weight_gradient;
    parameter_gradient[stage.parameter_offset + channels + c] = bias_gradient;
    if (!gradient_in) continue;
    const auto scale = hn::Mul(hn::Set(d, parameters[stage.parameter_offset + c]), inverse);
    const auto mean_gradient = hn::Set(d, bias_gradient / count);
    const auto mean_product = hn::Set(d, weight_gradient / count);
    for_each_vector([&](std::size_t at, auto is_real, auto gradient, auto normal) HWY_ATTR {
      const auto centred = hn::Sub(gradient, mean_gradient);
      const auto result = hn::Mul(scale, hn::NegMulAdd(normal, mean_product, centred));
      hn::BlendedStore(result, is_real, d, gradient_in + at);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
