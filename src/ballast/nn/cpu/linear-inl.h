// Linear layers: one matrix product serves the forward pass and both gradients. Included once per
// SIMD target.

#if defined(BALLAST_NN_CPU_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_LINEAR_INL_H_
#undef BALLAST_NN_CPU_LINEAR_INL_H_
#else
#define BALLAST_NN_CPU_LINEAR_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "ballast/nn/cpu/plan.h"
#include "ballast/nn/cpu/transpose-inl.h"
#include "ballast/nn/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i][j] = start[i] + sum over k of left(i, k) * right[k][j], where left(i, k) is at
// left[i * left_row + k * left_column] and start may be null.
struct Product {
  std::size_t rows, inner, columns;
  const float* left;
  std::size_t left_row, left_column;
  MatrixView right;
  const float* start;
  MutableMatrixView out;
};

template <class D, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void product_block(D d, const Product& p, std::size_t i, std::size_t j) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> sums[kRows][kVectors];
  BALLAST_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    BALLAST_UNROLL
    for (auto& sum : sums[r]) sum = hn::Set(d, p.start ? p.start[i + r] : 0.0f);
  }
  for (std::size_t k = 0; k < p.inner; ++k) {
    const float* right = p.right.data + k * p.right.stride + j;
    const float* left = p.left + i * p.left_row + k * p.left_column;
    hn::Vec<D> values[kVectors];
    BALLAST_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) values[v] = hn::LoadU(d, right + v * lanes);
    BALLAST_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, left[r * p.left_row]);
      BALLAST_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(factor, values[v], sums[r][v]);
      }
    }
  }
  BALLAST_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    BALLAST_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, p.out.data + (i + r) * p.out.stride + j + v * lanes);
    }
  }
}

// The last block of rows or columns overlaps the one before it rather than being smaller: a value
// computed twice is the same value.
template <class D, std::size_t kRows, std::size_t kVectors>
void product_rows(D d, const Product& p) {
  const std::size_t width = kVectors * hn::Lanes(d);
  for (std::size_t j = 0; j < p.columns; j += width) {
    for (std::size_t i = 0; i < p.rows; i += kRows) {
      product_block<D, kRows, kVectors>(d, p, std::min(i, p.rows - kRows),
                                        std::min(j, p.columns - width));
    }
  }
}

template <class D, std::size_t kRows, std::size_t kVectors>
void product_any_rows(D d, const Product& p) {
  if (p.rows >= kRows) return product_rows<D, kRows, kVectors>(d, p);
  product_rows<D, 1, kVectors>(d, p);
}

template <class D>
void product(D d, const Product& p) {
  const std::size_t lanes = hn::Lanes(d);
  if (p.columns >= 2 * lanes) return product_any_rows<D, 4, 2>(d, p);
  if (p.columns >= lanes) return product_any_rows<D, 8, 1>(d, p);
  product_any_rows<hn::CappedTag<float, 1>, 8, 1>(hn::CappedTag<float, 1>(), p);
}

template <class D>
void linear_forward(D d, const BatchPlan& plan, const Stage& stage, const float* parameters,
                    float* floats) {
  const std::size_t in = stage.in.size(), out = stage.out.size(), lanes = plan.lanes;
  const float* weights = parameters + stage.parameter_offset;
  const float* bias = stage.bias ? weights + out * in : nullptr;
  for (std::size_t tile = 0; tile < plan.tiles; ++tile) {
    product(d, {out,
                in,
                lanes,
                weights,
                in,
                1,
                {floats + stage.input + tile * in * lanes, lanes},
                bias,
                {floats + stage.output + tile * out * lanes, lanes}});
  }
}

template <class D>
void linear_backward(D d, const BatchPlan& plan, const Stage& stage, const float* parameters,
                     const float* gradient_out, float* gradient_in, float* parameter_gradient,
                     const float* samples) {
  const std::size_t in = stage.in.size(), out = stage.out.size();
  float* weight_gradient = parameter_gradient + stage.parameter_offset;
  product(
      d,
      {out, plan.samples, in, gradient_out, 1, out, {samples, in}, nullptr, {weight_gradient, in}});
  if (stage.bias) {
    float* bias_gradient = weight_gradient + out * in;
    std::copy_n(gradient_out, out, bias_gradient);
    for (std::size_t sample = 1; sample < plan.samples; ++sample) {
      for (std::size_t o = 0; o < out; ++o) bias_gradient[o] += gradient_out[sample * out + o];
    }
  }
  if (!gradient_in) return;
  product(d, {plan.samples,
              out,
              in,
              gradient_out,
              out,
              1,
              {parameters + stage.parameter_offset, in},
              nullptr,
              {gradient_in, in}});
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
