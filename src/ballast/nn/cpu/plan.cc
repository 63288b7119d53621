#include "ballast/nn/cpu/plan.h"

#include <algorithm>
#include <variant>

namespace ballast::nn::cpu {
namespace {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Hands out consecutive stretches that start on a cache line and have the slack behind them.
std::size_t take(std::size_t& used, std::size_t count) {
  const std::size_t offset = used;
  used += round_up(count + kSlack, 16);
  return offset;
}

Stage conv_stage(const Conv2d& conv, const Step& step) {
  Stage stage;
  stage.kind = StageKind::kConv;
  stage.kernel = conv.kernel;
  stage.padding = conv.padding;
  stage.bias = conv.bias;
  stage.padded = {step.in.channels, step.in.height + 2 * conv.padding,
                  step.in.width + 2 * conv.padding};
  return stage;
}

Stage stage_of(const Step& step) {
  Stage stage;
  if (const auto* conv = std::get_if<Conv2d>(&step.layer)) {
    stage = conv_stage(*conv, step);
  } else {
    stage.padded = step.in;
    if (const auto* linear = std::get_if<Linear>(&step.layer)) {
      stage.kind = StageKind::kLinear;
      stage.bias = linear->bias;
    } else if (std::holds_alternative<BatchNorm>(step.layer)) {
      stage.kind = StageKind::kBatchNorm;
    } else if (std::holds_alternative<MaxPool>(step.layer)) {
      stage.kind = StageKind::kMaxPool;
    }
  }
  stage.in = step.in;
  stage.out = step.out;
  stage.parameter_offset = step.parameter_offset;
  stage.statistic_offset = step.statistic_offset;
  return stage;
}

// Whether a convolution, a ReLU and a pool (the last two in either order: they commute) start here.
bool is_fusible(std::span<const Step> steps) {
  if (steps.size() < 3 || !std::holds_alternative<Conv2d>(steps[0].layer)) return false;
  const auto holds = [&](std::size_t index, auto kind) {
    return std::holds_alternative<decltype(kind)>(steps[index].layer);
  };
  return (holds(1, Relu{}) && holds(2, MaxPool{})) || (holds(1, MaxPool{}) && holds(2, Relu{}));
}

bool is_conv(const Stage& stage) {
  return stage.kind == StageKind::kConv || stage.kind == StageKind::kConvReluPool;
}

bool has_winners(const Stage& stage) {
  return stage.kind == StageKind::kConvReluPool || stage.kind == StageKind::kMaxPool;
}

}  // namespace

RowLayout::RowLayout(const Stage& stage) noexcept
    : pixel(stage.in.channels < 8 ? stage.in.channels : round_up(stage.in.channels, 8)),
      line(stage.padded.width * pixel),
      image(round_up(stage.padded.height * line + kSlack, 16)),
      row(round_up(stage.kernel * pixel, 8)) {}

BatchPlan::BatchPlan(const Network& network, std::size_t samples_in, std::size_t lanes_in)
    : samples(samples_in), lanes(lanes_in), tiles((samples_in + lanes_in - 1) / lanes_in) {
  add_stages(network);
  place_stages(network);
  place_shared(network);
  place_integers();
}

void BatchPlan::add_stages(const Network& network) {
  const auto steps = network.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::holds_alternative<Flatten>(steps[i].layer)) continue;
    Stage stage = stage_of(steps[i]);
    if (is_fusible(steps.subspan(i))) {
      stage.kind = StageKind::kConvReluPool;
      stage.out = steps[i + 2].out;
      i += 2;
    }
    stages[stage_count++] = stage;
  }
}

void BatchPlan::place_stages(const Network& network) {
  const std::size_t columns = tiles * lanes;
  outputs = images = take(float_count, network.input().size() * columns);
  for (Stage& stage : std::span(stages).first(stage_count)) {
    stage.input = stage.padding == 0 ? outputs : take(float_count, stage.padded.size() * columns);
    stage.output = outputs = take(float_count, stage.out.size() * columns);
    if (has_winners(stage)) stage.winners = take(float_count, stage.out.size() * columns);
    if (stage.kind == StageKind::kBatchNorm) {
      stage.moments = take(float_count, 2 * stage.in.channels);
    }
  }
}

void BatchPlan::place_shared(const Network& network) {
  std::size_t largest = network.input().size(), weights = 0, rows = 0, image = 0, inputs = 0;
  std::size_t codes = 0, values = 0;
  for (const Stage& stage : active()) {
    largest = std::max({largest, stage.in.size(), stage.out.size()});
    codes = std::max(codes, samples * stage.out.size());
    inputs = std::max(inputs, samples * stage.in.size());
    if (!is_conv(stage)) continue;
    const RowLayout layout(stage);
    weights =
        std::max(weights, stage.out.channels * stage.in.channels * stage.kernel * stage.kernel);
    rows = std::max(rows, stage.kernel * stage.out.channels * layout.row);
    image = std::max(image, layout.image);
    values = std::max(values, stage.out.size());
  }
  shared.gradient_out = take(float_count, samples * largest);
  shared.gradient_in = take(float_count, samples * largest);
  shared.weights = take(float_count, weights);
  shared.row_weights = take(float_count, rows);
  shared.row_gradients = take(float_count, rows);
  shared.samples = take(float_count, std::max(inputs, lanes * image));
  shared.codes = take(float_count, codes);
  shared.image = take(float_count, image);
  shared.values = take(float_count, values);
  shared.values_too = take(float_count, values);
}

void BatchPlan::place_integers() {
  std::size_t outs = 0, pixels = 0, channels = 0, positions = 0;
  for (const Stage& stage : active()) {
    if (!is_conv(stage)) continue;
    outs = std::max(outs, stage.out.size());
    pixels = std::max(pixels, stage.padded.positions());
    channels = std::max(channels, stage.out.channels);
    positions = std::max(positions, stage.out.positions());
  }
  integers.corners = take(integer_count, positions);
  integers.pixels = take(integer_count, outs);
  integers.channel_starts = take(integer_count, channels + 1);
  integers.channel_targets = take(integer_count, channels);
  integers.channel_offsets = take(integer_count, outs);
  integers.pixel_starts = take(integer_count, pixels + 1);
  integers.pixel_targets = take(integer_count, pixels);
  integers.pixel_offsets = take(integer_count, outs);
  integers.cursors = take(integer_count, pixels);
}

}  // namespace ballast::nn::cpu
