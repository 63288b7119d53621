// Convolution with the samples in the lanes: every product is a broadcast weight times a vector of
// one pixel in all samples. Included once per SIMD target.

#if defined(BALLAST_NN_CPU_CONV_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_NN_CPU_CONV_FORWARD_INL_H_
#undef BALLAST_NN_CPU_CONV_FORWARD_INL_H_
#else
#define BALLAST_NN_CPU_CONV_FORWARD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "ballast/nn/cpu/plan.h"
#include "ballast/nn/cpu/pointwise-inl.h"
#include "ballast/nn/cpu/transpose-inl.h"
#include "ballast/nn/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::nn::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Output channels x positions are summed at once in registers, of which AVX-512 has 32 and the
// others mostly 16: channels * 4 sums, one weight per channel and one pixel must fit.
inline constexpr std::size_t kPositionBlock = 4;
inline constexpr std::size_t kChannelBlock = HWY_TARGET <= HWY_AVX3 ? 5 : 3;

// What one block of output channels needs.
struct ConvBlock {
  const float* weights;  // [tap][channel of the block]
  const float* bias;     // of the block, or null
  std::size_t first_channel;
};

template <class D, std::size_t kChannels>
using ConvSums = hn::Vec<D>[kChannels][kPositionBlock];

// A function of its own, and its sums a local: a compiler that sees the loops around it, or that
// two of the corners are neighbours, spends registers on what it learns and puts sums into memory
// instead.
template <class D, std::size_t kChannels>
HWY_NOINLINE void convolve(D d, const Stage& stage, const ConvBlock& block,
                           const float* const (&corners)[kPositionBlock],
                           ConvSums<D, kChannels>& sums_out) {
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t line = stage.padded.width * lanes;
  const std::size_t plane = stage.padded.height * line;
  ConvSums<D, kChannels> sums;
  BALLAST_UNROLL
  for (std::size_t c = 0; c < kChannels; ++c) {
    const auto start = hn::Set(d, block.bias ? block.bias[c] : 0.0f);
    BALLAST_UNROLL
    for (std::size_t p = 0; p < kPositionBlock; ++p) sums[c][p] = start;
  }
  const float* HWY_RESTRICT weight = block.weights;
  for (std::size_t i = 0; i < stage.in.channels; ++i) {
    for (std::size_t ky = 0; ky < stage.kernel; ++ky) {
      const std::size_t begin = i * plane + ky * line;
      for (std::size_t at = begin; at < begin + stage.kernel * lanes; at += lanes) {
        hn::Vec<D> weights[kChannels];
        BALLAST_UNROLL
        for (std::size_t c = 0; c < kChannels; ++c) weights[c] = hn::Set(d, weight[c]);
        BALLAST_UNROLL
        for (std::size_t p = 0; p < kPositionBlock; ++p) {
          const auto pixel = hn::Load(d, corners[p] + at);
          BALLAST_UNROLL
          for (std::size_t c = 0; c < kChannels; ++c) {
            sums[c][p] = hn::MulAdd(weights[c], pixel, sums[c][p]);
          }
        }
        weight += kChannels;
      }
    }
  }
  BALLAST_UNROLL
  for (std::size_t c = 0; c < kChannels; ++c) {
    BALLAST_UNROLL
    for (std::size_t p = 0; p < kPositionBlock; ++p) sums_out[c][p] = sums[c][p];
  }
}

// The pool and the ReLU of four sums. The winner is marked -1 where the ReLU lets nothing through.
template <class D>
HWY_INLINE void store_pool(D d, const hn::Vec<D> (&values)[kPositionBlock], std::size_t width,
                           float* output, float* winner) {
  const hn::RebindToSigned<D> di;
  const PoolWinner<D> won = largest_of_pool(d, values, width);
  // Not Max(): a NaN must stay one.
  const auto zero = hn::Zero(d);
  const auto is_dead = hn::Le(won.value, zero);
  hn::Store(hn::IfThenElse(is_dead, zero, won.value), d, output);
  hn::Store(hn::IfThenElse(is_dead, hn::BitCast(d, hn::Set(di, -1)), won.corner), d, winner);
}

template <class D, std::size_t kChannels>
void conv_relu_pool_block(D d, const Stage& stage, const ConvBlock& block, std::size_t tile,
                          float* floats) {
  const std::size_t lanes = hn::Lanes(d), width = stage.padded.width;
  const float* input = floats + stage.input + tile * stage.padded.size() * lanes;
  const std::size_t first =
      (tile * stage.out.size() + block.first_channel * stage.out.positions()) * lanes;
  for (std::size_t position = 0; position < stage.out.positions(); ++position) {
    const std::size_t y = position / stage.out.width, x = position % stage.out.width;
    const float* corner = input + (2 * y * width + 2 * x) * lanes;
    const float* const corners[] = {corner, corner + lanes, corner + width * lanes,
                                    corner + (width + 1) * lanes};
    ConvSums<D, kChannels> sums;
    convolve<D, kChannels>(d, stage, block, corners, sums);
    BALLAST_UNROLL
    for (std::size_t c = 0; c < kChannels; ++c) {
      const std::size_t at = first + (c * stage.out.positions() + position) * lanes;
      store_pool(d, sums[c], width, floats + stage.output + at, floats + stage.winners + at);
    }
  }
}

template <class D, std::size_t kChannels>
void conv_block(D d, const Stage& stage, const ConvBlock& block, std::size_t tile, float* floats) {
  const std::size_t lanes = hn::Lanes(d), positions = stage.out.positions();
  const float* input = floats + stage.input + tile * stage.padded.size() * lanes;
  float* output =
      floats + stage.output + (tile * stage.out.size() + block.first_channel * positions) * lanes;
  for (std::size_t position = 0; position < positions; position += kPositionBlock) {
    // The last block may repeat the last position; it then stores the same value again.
    std::size_t at[kPositionBlock];
    const float* corners[kPositionBlock];
    BALLAST_UNROLL
    for (std::size_t p = 0; p < kPositionBlock; ++p) {
      at[p] = std::min(position + p, positions - 1);
      corners[p] =
          input + (at[p] / stage.out.width * stage.padded.width + at[p] % stage.out.width) * lanes;
    }
    ConvSums<D, kChannels> sums;
    convolve<D, kChannels>(d, stage, block, corners, sums);
    BALLAST_UNROLL
    for (std::size_t c = 0; c < kChannels; ++c) {
      BALLAST_UNROLL
      for (std::size_t p = 0; p < kPositionBlock; ++p) {
        hn::Store(sums[c][p], d, output + (c * positions + at[p]) * lanes);
      }
    }
  }
}

template <class D, std::size_t kChannels>
void run_conv_block(D d, const Stage& stage, const ConvBlock& block, std::size_t tiles,
                    float* floats) {
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    if (stage.kind == StageKind::kConvReluPool) {
      conv_relu_pool_block<D, kChannels>(d, stage, block, tile, floats);
    } else {
      conv_block<D, kChannels>(d, stage, block, tile, floats);
    }
  }
}

template <class D>
void dispatch_conv_block(D d, const Stage& stage, const ConvBlock& block, std::size_t channels,
                         std::size_t tiles, float* floats) {
  switch (channels) {
    case 1:
      return run_conv_block<D, 1>(d, stage, block, tiles, floats);
    case 2:
      return run_conv_block<D, 2>(d, stage, block, tiles, floats);
    case 3:
      return run_conv_block<D, 3>(d, stage, block, tiles, floats);
#if HWY_TARGET <= HWY_AVX3
    case 4:
      return run_conv_block<D, 4>(d, stage, block, tiles, floats);
    case 5:
      return run_conv_block<D, 5>(d, stage, block, tiles, floats);
#endif
  }
}

// Copies the activations before a convolution into a zero border.
inline void pad_input(const Stage& stage, const float* from, std::size_t tiles, std::size_t lanes,
                      float* to) {
  std::fill_n(to, tiles * stage.padded.size() * lanes, 0.0f);
  const std::size_t line = stage.in.width * lanes;
  for (std::size_t plane = 0; plane < tiles * stage.in.channels; ++plane) {
    for (std::size_t y = 0; y < stage.in.height; ++y) {
      const std::size_t row = plane * stage.padded.height + y + stage.padding;
      std::copy_n(from + (plane * stage.in.height + y) * line, line,
                  to + (row * stage.padded.width + stage.padding) * lanes);
    }
  }
}

template <class D>
void conv_forward(D d, const BatchPlan& plan, const Stage& stage, const float* parameters,
                  const float* previous, float* floats) {
  if (stage.padding > 0) {
    pad_input(stage, previous, plan.tiles, plan.lanes, floats + stage.input);
  }
  const std::size_t channels = stage.out.channels;
  const std::size_t taps = stage.in.channels * stage.kernel * stage.kernel;
  const float* weights = parameters + stage.parameter_offset;
  const float* bias = weights + channels * taps;
  float* packed = floats + plan.shared.weights;
  // Blocks of nearly equal size rather than full ones and a small rest.
  const std::size_t blocks = (channels + kChannelBlock - 1) / kChannelBlock;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t first = channels * b / blocks;
    const std::size_t count = channels * (b + 1) / blocks - first;
    transpose({weights + first * taps, taps}, count, taps, {packed, count});
    const ConvBlock block = {packed, stage.bias ? bias + first : nullptr, first};
    dispatch_conv_block(d, stage, block, count, plan.tiles, floats);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ballast::nn::cpu
HWY_AFTER_NAMESPACE();

#endif
