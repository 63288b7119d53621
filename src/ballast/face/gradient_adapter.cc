#include "ballast/face/gradient_adapter.h"

#include <utility>

#include "ballast/base/rng.h"
#include "ballast/face/guard.h"

namespace ballast {

std::uint64_t SampleKey::mixed() const noexcept {
  return Rng(RngKey{.seed = seed, .owner = worker, .step = step}).next_u64();
}

namespace face {

Result<std::unique_ptr<GradientAdapter>> GradientAdapter::make(
    std::shared_ptr<ballast::GradientSource> source) {
  if (source == nullptr) return invalid_argument("there is no gradient source");
  return guarded("the gradient source", [&]() -> Result<std::unique_ptr<GradientAdapter>> {
    std::unique_ptr<GradientAdapter> adapter(new GradientAdapter);
    adapter->dim_ = source->dim();
    adapter->class_count_ = source->class_count();
    const std::span<const float> statistics = source->initial_statistics();
    if (adapter->dim_ == 0) return invalid_argument("the gradient source has no values");
    if (adapter->class_count_ < 0 || is_null(statistics)) {
      return invalid_argument("the gradient source has wrong classes or statistics");
    }
    adapter->statistics_.assign(statistics.begin(), statistics.end());
    adapter->source_ = std::move(source);
    return adapter;
  });
}

Result<double> GradientAdapter::gradient(std::span<const float> model, const worker::Sample& sample,
                                         std::span<float> out, std::span<float> statistics) {
  const Sample shown = {
      .key = {.seed = sample.key.seed, .worker = sample.key.worker, .step = sample.key.step},
      .label_map = sample.label_map};
  return guarded("the gradient source",
                 [&] { return source_->gradient(model, shown, out, statistics); });
}

optim::EstimatorOptions estimator_of(const Optimizer& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kMomentum:
      return optim::MomentumEstimator{.b = optimizer.momentum};
    case OptimizerKind::kMu2:
      if (optimizer.is_theory) return optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};
      return optim::Mu2Estimator{.beta = optim::ConstantBeta{.beta = optimizer.beta}};
    case OptimizerKind::kSgd:
      break;
  }
  return optim::SgdEstimator{};
}

}  // namespace face
}  // namespace ballast
