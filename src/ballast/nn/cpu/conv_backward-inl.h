// Backward pass of a convolution, sample by sample and over living gradients only. Behind a ReLU
// and a pool at most one output position in four has a gradient at all, at a place of its own in
// every sample, so the lanes here are not the samples: they run along a kernel row, whose kernel x
// channels weights lie under as many contiguous values of the image (RowLayout in plan.h). Both
// gradients are then sums of rows over living gradients g,
//   of the weights: row(channel) += sum over the channel's g of g * image row(pixel of g)
//   of the image:   row(pixel)   += sum over the pixel's g of g * weight row(channel of g)
// and one kernel does both (row_sums-inl.h). Included once per SIMD target.

#if defined(BALLAST_NN_CPU_CONV_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_CONV_BACKWARD_INL_H_
#undef BALLAST_NN_CPU_CONV_BACKWARD_INL_H_
#else
#define BALLAST_NN_CPU_CONV_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ballast/nn/cpu/plan.h"
#include "ballast/nn/cpu/row_sums-inl.h"
#include "ballast/nn/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kSetBits[b] lists the bits of b that are set: the lanes to keep, first ones first. Highway has
// Compress(), whose own table GCC copies to the stack in every call on AVX2.
inline constexpr auto kSetBits = [] {
  std::array<std::array<std::int32_t, 8>, 256> table{};
  for (std::size_t bits = 0; bits < 256; ++bits) {
    std::size_t used = 0;
    for (std::int32_t bit = 0; bit < 8; ++bit) {
      if (bits >> bit & 1) table[bits][used++] = bit;
    }
  }
  return table;
}();

// The buffers of one convolution's backward pass, by name.
struct ConvBackward {
  ConvBackward(const BatchPlan& plan, const Stage& stage_in, float* floats, std::int32_t* integers)
      : stage(stage_in),
        layout(stage_in),
        row_weights(floats + plan.shared.row_weights),
        row_gradients(floats + plan.shared.row_gradients),
        images(floats + plan.shared.samples),
        codes(floats + plan.shared.codes),
        image_gradient(floats + plan.shared.image),
        corners(integers + plan.integers.corners),
        pixels(integers + plan.integers.pixels),
        cursors(integers + plan.integers.cursors),
        by_channel{floats + plan.shared.values, integers + plan.integers.channel_offsets,
                   integers + plan.integers.channel_starts,
                   integers + plan.integers.channel_targets, 0},
        by_pixel{floats + plan.shared.values_too, integers + plan.integers.pixel_offsets,
                 integers + plan.integers.pixel_starts, integers + plan.integers.pixel_targets, 0} {
  }

  bool has_pool() const { return stage.kind == StageKind::kConvReluPool; }
  std::size_t row_plane() const { return stage.out.channels * layout.row; }

  const Stage& stage;
  const RowLayout layout;
  float* row_weights;
  float* row_gradients;
  float* images;
  float* codes;
  float* image_gradient;
  std::int32_t* corners;
  std::int32_t* pixels;
  std::int32_t* cursors;
  GroupedTerms by_channel;
  GroupedTerms by_pixel;
};

// Where in a sample's image the patch under each output position (of its pool) begins.
inline void find_corners(const ConvBackward& conv) {
  const std::size_t stride = conv.has_pool() ? 2 : 1;
  std::int32_t* corner = conv.corners;
  for (std::size_t y = 0; y < conv.stage.out.height; ++y) {
    for (std::size_t x = 0; x < conv.stage.out.width; ++x) {
      *corner++ = static_cast<std::int32_t>(stride * (y * conv.stage.padded.width + x));
    }
  }
}

// Calls visit with the offset of each kernel row in [channel][in][ky][kx], where it is a matrix of
// one line of kernel values per input channel, and in [ky][channel][kx][in], where it is the
// transpose.
template <typename Visit>
HWY_INLINE void for_each_kernel_row(const ConvBackward& conv, Visit&& visit) {
  const std::size_t kernel = conv.stage.kernel, channels = conv.stage.out.channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t ky = 0; ky < kernel; ++ky) {
      visit((c * conv.stage.in.channels * kernel + ky) * kernel,
            (ky * channels + c) * conv.layout.row);
    }
  }
}

inline void pack_weights(const ConvBackward& conv, const float* weights) {
  const std::size_t kernel = conv.stage.kernel;
  std::fill_n(conv.row_weights, kernel * conv.row_plane(), 0.0f);
  for_each_kernel_row(conv, [&](std::size_t plain, std::size_t row) HWY_ATTR {
    transpose({weights + plain, kernel * kernel}, conv.stage.in.channels, kernel,
              {conv.row_weights + row, conv.layout.pixel});
  });
}

inline void unpack_weight_gradient(const ConvBackward& conv, float* gradient) {
  const std::size_t kernel = conv.stage.kernel;
  for_each_kernel_row(conv, [&](std::size_t plain, std::size_t row) HWY_ATTR {
    transpose({conv.row_gradients + row, conv.layout.pixel}, kernel, conv.stage.in.channels,
              {gradient + plain, kernel * kernel});
  });
}

template <class D>
HWY_INLINE std::size_t mask_bits(D d, hn::Mask<D> mask) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(d, mask, bytes);
  return bytes[0];
}

// One sample's living gradients, channel by channel; adds their sums to the bias's gradient.
template <class D>
void list_by_channel(D d, ConvBackward& conv, const float* gradients, const float* codes,
                     float* bias_gradient) {
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d), positions = conv.stage.out.positions();
  const auto pixel_stride = hn::Set(di, static_cast<std::int32_t>(conv.layout.pixel));
  std::size_t used = 0;
  for (std::size_t c = 0; c < conv.stage.out.channels; ++c) {
    auto sum = hn::Zero(d);
    for (std::size_t p = 0; p < positions; p += lanes) {
      const auto gradient = hn::LoadU(d, gradients + c * positions + p);
      auto pixel = hn::LoadU(di, conv.corners + p);
      auto is_alive = hn::And(hn::FirstN(d, positions - p), hn::Ne(gradient, hn::Zero(d)));
      if (codes) {
        const auto code = hn::BitCast(di, hn::LoadU(d, codes + c * positions + p));
        is_alive = hn::And(is_alive, hn::RebindMask(d, hn::Gt(code, hn::Set(di, -1))));
        pixel = hn::Add(pixel, code);
      }
      const std::size_t bits = mask_bits(d, is_alive);
      const auto order = hn::SetTableIndices(d, kSetBits[bits].data());
      const auto alive_pixel = hn::BitCast(di, hn::TableLookupLanes(hn::BitCast(d, pixel), order));
      hn::StoreU(hn::TableLookupLanes(gradient, order), d, conv.by_channel.values + used);
      hn::StoreU(alive_pixel, di, conv.pixels + used);
      hn::StoreU(hn::Mul(alive_pixel, pixel_stride), di, conv.by_channel.offsets + used);
      sum = hn::Add(sum, hn::IfThenElseZero(is_alive, gradient));
      used += static_cast<std::size_t>(std::popcount(bits));
    }
    conv.by_channel.starts[c + 1] = static_cast<std::int32_t>(used);
    if (bias_gradient) bias_gradient[c] += hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// The same gradients, pixel by pixel and in the order of the channels (a counting sort).
inline void list_by_pixel(ConvBackward& conv) {
  const GroupedTerms& from = conv.by_channel;
  GroupedTerms& to = conv.by_pixel;
  const std::size_t pixels = conv.stage.padded.positions(), channels = conv.stage.out.channels;
  std::fill_n(conv.cursors, pixels, 0);
  for (std::int32_t e = 0; e < from.starts[channels]; ++e) ++conv.cursors[conv.pixels[e]];
  to.groups = 0;
  std::int32_t used = 0;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::int32_t count = conv.cursors[pixel];
    conv.cursors[pixel] = used;
    if (count == 0) continue;
    to.targets[to.groups] = static_cast<std::int32_t>(pixel * conv.layout.pixel);
    to.starts[to.groups++] = used;
    used += count;
  }
  to.starts[to.groups] = used;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::int32_t e = from.starts[c]; e < from.starts[c + 1]; ++e) {
      const std::int32_t place = conv.cursors[conv.pixels[e]]++;
      to.values[place] = from.values[e];
      to.offsets[place] = static_cast<std::int32_t>(c * conv.layout.row);
    }
  }
}

inline void start_conv_backward(ConvBackward& conv) {
  std::fill_n(conv.row_gradients, conv.stage.kernel * conv.row_plane(), 0.0f);
  find_corners(conv);
  conv.by_channel.groups = conv.stage.out.channels;
  conv.by_channel.starts[0] = 0;
  for (std::size_t c = 0; c < conv.stage.out.channels; ++c) {
    conv.by_channel.targets[c] = static_cast<std::int32_t>(c * conv.layout.row);
  }
}

// A tile's images with the channels innermost, and its winners, sample by sample.
inline void unpack_tile(const BatchPlan& plan, const ConvBackward& conv, std::size_t tile,
                        std::size_t samples, const float* floats) {
  const Stage& stage = conv.stage;
  const std::size_t positions = stage.padded.positions(), lanes = plan.lanes;
  const float* input = floats + stage.input + tile * stage.padded.size() * lanes;
  for (std::size_t p = 0; p < positions; ++p) {
    transpose({input + p * lanes, positions * lanes}, stage.in.channels, samples,
              {conv.images + p * conv.layout.pixel, conv.layout.image});
  }
  if (!conv.has_pool()) return;
  transpose({floats + stage.winners + tile * stage.out.size() * lanes, lanes}, stage.out.size(),
            samples, {conv.codes, stage.out.size()});
}

// Writes the gradient with respect to one sample's input.
template <class D>
void image_backward(D d, ConvBackward& conv, float* gradient_in) {
  const Stage& stage = conv.stage;
  const RowLayout& layout = conv.layout;
  std::fill_n(conv.image_gradient, layout.image, 0.0f);
  list_by_pixel(conv);
  add_rows(d, conv.by_pixel, {stage.kernel, layout.row}, {conv.row_weights, conv.row_plane()},
           {conv.image_gradient, layout.line});
  for (std::size_t y = 0; y < stage.in.height; ++y) {
    const float* line =
        conv.image_gradient + (y + stage.padding) * layout.line + stage.padding * layout.pixel;
    transpose({line, layout.pixel}, stage.in.width, stage.in.channels,
              {gradient_in + y * stage.in.width, stage.in.positions()});
  }
}

// Writes the gradients of the weights and the bias and, if gradient_in is not null, of the input.
inline void conv_backward(const BatchPlan& plan, const Stage& stage, const float* parameters,
                          const float* gradient_out, float* gradient_in, float* parameter_gradient,
                          float* floats, std::int32_t* integers) {
  const hn::CappedTag<float, 8> d;
  ConvBackward conv(plan, stage, floats, integers);
  float* weight_gradient = parameter_gradient + stage.parameter_offset;
  float* bias_gradient =
      weight_gradient + stage.out.channels * stage.in.channels * stage.kernel * stage.kernel;
  if (stage.bias) std::fill_n(bias_gradient, stage.out.channels, 0.0f);
  start_conv_backward(conv);
  if (gradient_in) pack_weights(conv, parameters + stage.parameter_offset);
  for (std::size_t sample = 0; sample < plan.samples; ++sample) {
    const std::size_t lane = sample % plan.lanes;
    if (lane == 0) {
      unpack_tile(plan, conv, sample / plan.lanes, std::min(plan.lanes, plan.samples - sample),
                  floats);
    }
    const float* codes = conv.has_pool() ? conv.codes + lane * stage.out.size() : nullptr;
    list_by_channel(d, conv, gradient_out + sample * stage.out.size(), codes,
                    stage.bias ? bias_gradient : nullptr);
    add_rows(d, conv.by_channel, {stage.kernel, conv.layout.row},
             {conv.images + lane * conv.layout.image, conv.layout.line},
             {conv.row_gradients, conv.row_plane()});
    if (gradient_in) image_backward(d, conv, gradient_in + sample * stage.in.size());
  }
  unpack_weight_gradient(conv, weight_gradient);
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
