// ReLU and max-pool where no convolution stands before them. Included once per SIMD target.

#if defined(BALLAST_NN_CPU_POINTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_POINTWISE_INL_H_
#undef BALLAST_NN_CPU_POINTWISE_INL_H_
#else
#define BALLAST_NN_CPU_POINTWISE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ballast/nn/cpu/plan.h"
#include "ballast/nn/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
void relu_forward(D d, const BatchPlan& plan, const Stage& stage, float* floats) {
  const std::size_t count = plan.tiles * stage.in.size() * plan.lanes;
  const auto zero = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto value = hn::Load(d, floats + stage.input + i);
    hn::Store(hn::IfThenElse(hn::Lt(value, zero), zero, value), d, floats + stage.output + i);
  }
}

template <class D>
void relu_backward(D d, const BatchPlan& plan, const Stage& stage, const float* gradient_out,
                   float* gradient_in, const float* outputs) {
  const std::size_t count = plan.samples * stage.in.size();
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto is_dead = hn::Le(hn::LoadU(d, outputs + i), hn::Zero(d));
    hn::StoreU(hn::IfThenZeroElse(is_dead, hn::LoadU(d, gradient_out + i)), d, gradient_in + i);
  }
}

template <class D>
struct PoolWinner {
  hn::Vec<D> value;
  hn::Vec<D> corner;  // its distance in pixels from the first corner, as int32 bits
};

// The largest of the four values of a pool, row by row; the first of equals.
template <class D>
HWY_INLINE PoolWinner<D> largest_of_pool(D d, const hn::Vec<D> (&values)[4], std::size_t width) {
  const hn::RebindToSigned<D> di;
  const std::size_t distance[] = {0, 1, width, width + 1};
  PoolWinner<D> won = {values[0], hn::BitCast(d, hn::Zero(di))};
  BALLAST_UNROLL
  for (std::size_t p = 1; p < 4; ++p) {
    const auto is_larger = hn::Gt(values[p], won.value);
    const auto corner = hn::BitCast(d, hn::Set(di, static_cast<std::int32_t>(distance[p])));
    won = {hn::IfThenElse(is_larger, values[p], won.value),
           hn::IfThenElse(is_larger, corner, won.corner)};
  }
  return won;
}

template <class D>
void pool_forward(D d, const BatchPlan& plan, const Stage& stage, float* floats) {
  const std::size_t width = stage.in.width, lanes = hn::Lanes(d);
  std::size_t to = 0;
  for (std::size_t plane = 0; plane < plan.tiles * stage.in.channels; ++plane) {
    for (std::size_t position = 0; position < stage.out.positions(); ++position, to += lanes) {
      const std::size_t y = 2 * (position / stage.out.width), x = 2 * (position % stage.out.width);
      const float* upper =
          floats + stage.input + (plane * stage.in.positions() + y * width + x) * lanes;
      const float* lower = upper + width * lanes;
      const hn::Vec<D> values[] = {hn::Load(d, upper), hn::Load(d, upper + lanes),
                                   hn::Load(d, lower), hn::Load(d, lower + lanes)};
      const PoolWinner<D> won = largest_of_pool(d, values, width);
      hn::Store(won.value, d, floats + stage.output + to);
      hn::Store(won.corner, d, floats + stage.winners + to);
    }
  }
}

// Codes are the winners, sample by sample, as int32 bits.
inline void pool_backward(const BatchPlan& plan, const Stage& stage, const float* gradient_out,
                          float* gradient_in, const float* codes) {
  std::fill_n(gradient_in, plan.samples * stage.in.size(), 0.0f);
  std::size_t from = 0;
  for (std::size_t plane = 0; plane < plan.samples * stage.in.channels; ++plane) {
    for (std::size_t position = 0; position < stage.out.positions(); ++position, ++from) {
      const std::size_t y = 2 * (position / stage.out.width), x = 2 * (position % stage.out.width);
      std::int32_t code;
      std::memcpy(&code, codes + from, sizeof(code));
      gradient_in[plane * stage.in.positions() + y * stage.in.width + x +
                  static_cast<std::size_t>(code)] = gradient_out[from];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
