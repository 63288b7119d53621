#include "ballast/nn/initialise.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"

namespace ballast::nn {
namespace {

// Names the streams of this file among all streams of a seed.
constexpr std::uint32_t kPurpose = 0x696e6974;  // "init"

void fill_uniform(Rng rng, double bound, std::span<float> values) {
  for (float& value : values) value = static_cast<float>((2.0 * rng.uniform() - 1.0) * bound);
}

// Inputs of one output; 0 where the layer is not drawn at random.
std::size_t fan_in(const Step& step) {
  if (const auto* conv = std::get_if<Conv2d>(&step.layer)) {
    return step.in.channels * conv->kernel * conv->kernel;
  }
  return std::holds_alternative<Linear>(step.layer) ? step.in.channels : 0;
}

}  // namespace

void initialise(const Network& network, std::uint64_t seed, std::span<float> parameters) {
  BALLAST_CHECK(parameters.size() == network.parameter_count(), "one value per parameter");
  std::uint32_t index = 0;
  for (const NetworkTensor& tensor : network.parameters()) {
    const Step& step = network.steps()[tensor.step];
    const auto values = parameters.subspan(tensor.offset, tensor.size());
    if (const std::size_t inputs = fan_in(step); inputs > 0) {
      fill_uniform(Rng(RngKey{.seed = seed, .purpose = kPurpose, .owner = index}),
                   1.0 / std::sqrt(static_cast<double>(inputs)), values);
    } else {
      const bool is_weight = tensor.offset == step.parameter_offset;
      std::fill(values.begin(), values.end(), is_weight ? 1.0f : 0.0f);
    }
    ++index;
  }
}

void initialise_statistics(const Network& network, std::span<float> statistics) {
  BALLAST_CHECK(statistics.size() == network.statistic_count(), "one value per statistic");
  for (const Step& step : network.steps()) {
    if (!std::holds_alternative<BatchNorm>(step.layer)) continue;
    const auto both = statistics.subspan(step.statistic_offset, 2 * step.in.channels);
    std::fill_n(both.begin(), step.in.channels, 0.0f);
    std::fill_n(both.begin() + static_cast<std::ptrdiff_t>(step.in.channels), step.in.channels,
                1.0f);
  }
}

}  // namespace ballast::nn
