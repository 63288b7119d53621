#pragma once
// How the fast body runs a network on a batch: which layers it fuses into one stage, and where each
// buffer lies in the workspace. Computed anew in every call, without allocating.
//
// Two layouts. Forward, the batch is cut into tiles of `lanes` samples and a buffer is
// [tile][channel][y][x][lane]; the last tile is filled up with zero images, whose results nobody
// reads. Backward, a buffer is [sample][channel][y][x], so only real samples are visited.

#include <array>
#include <cstddef>
#include <span>

#include "ballast/nn/network.h"

namespace ballast::nn::cpu {

// Every buffer starts on a cache line and may be read and written this many floats past its end.
inline constexpr std::size_t kSlack = 16;

enum class StageKind { kConv, kConvReluPool, kLinear, kBatchNorm, kRelu, kMaxPool };

// One layer, or a convolution with the ReLU and the pool behind it.
struct Stage {
  StageKind kind = StageKind::kRelu;
  LayerShape in;
  LayerShape padded;  // `in` with the convolution's border
  LayerShape out;
  std::size_t kernel = 0;
  std::size_t padding = 0;
  bool bias = false;
  std::size_t parameter_offset = 0;
  std::size_t statistic_offset = 0;

  // Offsets in floats.
  std::size_t input = 0;    // lanes, of shape `padded`
  std::size_t output = 0;   // lanes
  std::size_t winners = 0;  // lanes, of shape `out`: which corner of its pool won, as int32 bits
  std::size_t moments = 0;  // batch norm: means, then inverse deviations
};

// A convolution seen from the backward pass: images with the channels innermost, and kernels cut
// into rows of kernel x channels values, so that a kernel row and the image row under it are
// contiguous.
struct RowLayout {
  explicit RowLayout(const Stage& stage) noexcept;

  std::size_t pixel;  // floats from one pixel to the next
  std::size_t line;   // from one image row to the next
  std::size_t image;  // of a whole sample
  std::size_t row;    // of a kernel row, a multiple of 8
};

// Shared by the stages: each is as large as the largest need of any of them. Offsets in floats.
struct SharedBuffers {
  std::size_t gradient_out = 0;  // [sample][...], with respect to what a stage gives
  std::size_t gradient_in = 0;   // and to what it takes
  std::size_t weights = 0;       // a convolution's weights, in the order its kernel reads them
  std::size_t row_weights = 0;   // the same as rows [ky][out channel][row], and their gradient
  std::size_t row_gradients = 0;
  std::size_t samples = 0;     // a stage's input, sample by sample
  std::size_t codes = 0;       // its winners, or its output, sample by sample
  std::size_t image = 0;       // gradient of one sample's input, channels innermost
  std::size_t values = 0;      // lists of living gradients: by channel
  std::size_t values_too = 0;  // by pixel
};

// Offsets in integers. A list of groups is starts[groups + 1] into its values, and targets[groups].
struct IntegerBuffers {
  std::size_t corners = 0;  // pixel under each output position
  std::size_t pixels = 0;   // of each living gradient
  std::size_t channel_starts = 0, channel_targets = 0, channel_offsets = 0;
  std::size_t pixel_starts = 0, pixel_targets = 0, pixel_offsets = 0;
  std::size_t cursors = 0;
};

struct BatchPlan {
  BatchPlan(const Network& network, std::size_t samples, std::size_t lanes);

  std::span<const Stage> active() const noexcept { return {stages.data(), stage_count}; }

  std::size_t samples = 0;
  std::size_t lanes = 0;
  std::size_t tiles = 0;
  std::array<Stage, kLayersMax> stages;
  std::size_t stage_count = 0;
  std::size_t images = 0;   // the batch in lanes
  std::size_t outputs = 0;  // the last stage's output, in lanes
  SharedBuffers shared;
  IntegerBuffers integers;
  std::size_t float_count = 0;
  std::size_t integer_count = 0;

 private:
  void add_stages(const Network& network);
  void place_stages(const Network& network);
  void place_shared(const Network& network);
  void place_integers();
};

}  // namespace ballast::nn::cpu
