#include "ballast/verify/steps.h"

#include <memory>
#include <utility>

namespace ballast::verify {
namespace {

class WatchedOptimizer final : public optim::ServerOptimizer<float> {
 public:
  WatchedOptimizer(optim::ServerOptimizerPointer<float> inner,
                   std::span<StepObserver* const> observers)
      : inner_(std::move(inner)), observers_(observers.begin(), observers.end()) {}

  const Model& model() const noexcept override { return inner_->model(); }
  std::uint64_t version() const noexcept override { return inner_->version(); }
  optim::OptimizerStateView<float> view() const noexcept override { return inner_->view(); }
  Status restore(optim::OptimizerState<float> state) override {
    return inner_->restore(std::move(state));
  }

  Status step(const kernels::Vector& direction, double scale) override {
    std::vector<float> values(direction.size());
    direction.read(values);
    return step(std::span<const float>(values), scale);
  }

  // Algorithm 2 knows no scale: one that is not 1 is seen as a step of the wrong length.
  Status step(std::span<const float> direction, double scale) override {
    const optim::OptimizerState<float> before = inner_->state();
    BALLAST_TRY_STATUS(inner_->step(direction, scale));
    const optim::OptimizerStateView<float> after = inner_->view();
    for (StepObserver* const observer : observers_) {
      observer->on_step({.t = after.steps,
                         .direction = direction,
                         .w = before.w,
                         .x = before.x,
                         .next_w = after.w,
                         .next_x = after.x});
    }
    return {};
  }

 private:
  optim::ServerOptimizerPointer<float> inner_;
  std::vector<StepObserver*> observers_;
};

}  // namespace

optim::ServerOptimizerPointer<float> watched(optim::ServerOptimizerPointer<float> optimizer,
                                             std::span<StepObserver* const> observers) {
  if (observers.empty()) return optimizer;
  return std::make_unique<WatchedOptimizer>(std::move(optimizer), observers);
}

}  // namespace ballast::verify
