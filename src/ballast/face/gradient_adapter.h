#pragma once
// Private to face/: a caller's gradient source as the rooms know one, and a caller's optimizer as
// the workers' half of one.

#include <memory>
#include <span>
#include <vector>

#include "ballast/gradient.h"
#include "ballast/optim/estimator.h"
#include "ballast/optimizer.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::face {

// Sizes are asked for once, so a source that changes its mind cannot move anything under us.
class GradientAdapter final : public worker::GradientSource {
 public:
  static Result<std::unique_ptr<GradientAdapter>> make(
      std::shared_ptr<ballast::GradientSource> source);

  std::size_t dim() const noexcept override { return dim_; }
  int class_count() const noexcept override { return class_count_; }
  std::span<const float> initial_statistics() const noexcept override { return statistics_; }
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override;

 private:
  GradientAdapter() = default;

  std::shared_ptr<ballast::GradientSource> source_;
  std::size_t dim_ = 0;
  int class_count_ = 0;
  std::vector<float> statistics_;
};

optim::EstimatorOptions estimator_of(const Optimizer& optimizer);

}  // namespace ballast::face
