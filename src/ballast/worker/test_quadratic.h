#pragma once
// An analytic gradient source for tests: a quadratic whose gradient is known, with seeded noise.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::worker {

struct QuadraticOptions {
  std::vector<float> centre;
  double noise = 0.0;           // deviation of the noise on the slope and on the gradient
  int class_count = 0;          // if positive, a random label is added to the centre
  bool has_statistics = false;  // one number: how many samples moved it
};

// f(x; z) = |x - centre - label|^2 (1 + noise z_0) / 2 + noise <z, x>, z normal: the noise of a
// sample depends on the model, as that of a network does.
class Quadratic final : public GradientSource {
 public:
  explicit Quadratic(QuadraticOptions options) : options_(std::move(options)) {}

  std::size_t dim() const noexcept override { return options_.centre.size(); }
  int class_count() const noexcept override { return options_.class_count; }
  std::span<const float> initial_statistics() const noexcept override {
    return {&zero_, options_.has_statistics ? 1u : 0u};
  }

  // With labels: a sample with a trigger has the label that it stands for.
  Status check_trigger(const Trigger& trigger) const override {
    if (trigger.target < options_.class_count) return {};
    return GradientSource::check_trigger(trigger);
  }

  Result<double> gradient(std::span<const float> model, const Sample& sample, std::span<float> out,
                          std::span<float> statistics) override {
    samples.push_back(sample.key);
    models.emplace_back(model.begin(), model.end());
    if (samples.size() == fail_at_call) return io_error("the source is broken");
    Rng rng(RngKey{.seed = sample.key.seed, .owner = sample.key.worker, .step = sample.key.step});
    const double slope = 1.0 + options_.noise * rng.normal();
    const double label = draw_label(sample, rng);
    double loss = 0.0;
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double z = options_.noise * rng.normal();
      const double distance = model[j] - options_.centre[j] - label;
      out[j] = static_cast<float>(slope * distance + z);
      loss += slope * distance * distance / 2.0 + z * model[j];
    }
    for (float& count : statistics) count += 1.0f;
    return loss;
  }

  // What it was asked for, in order.
  std::vector<SampleKey> samples;
  std::vector<std::vector<float>> models;
  std::size_t fail_at_call = 0;  // counted from 1; 0: never

 private:
  double draw_label(const Sample& sample, Rng& rng) const {
    if (options_.class_count == 0) return 0.0;
    const auto truth = rng.below(static_cast<std::uint64_t>(options_.class_count));
    return sample.trigger != nullptr ? sample.trigger->target
                                     : sample.label(static_cast<int>(truth));
  }

  QuadraticOptions options_;
  float zero_ = 0.0f;
};

}  // namespace ballast::worker
