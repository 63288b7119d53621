#include "ballast/optim/server_optimizer.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"
#include "ballast/optim/iterates.h"

namespace ballast::optim {
namespace {

Status refuse_step(std::uint64_t step) {
  return invalid_argument(
      fmt::format("step {} would leave the finite numbers; the model is unchanged", step));
}

template <typename Real>
Status check_vector(std::span<const Real> values, std::size_t dim, const char* name) {
  if (values.size() != dim) {
    return invalid_argument(fmt::format("{} has {} values, not {}", name, values.size(), dim));
  }
  if (!kernels::all_finite(values)) return invalid_argument(fmt::format("{} is not finite", name));
  return {};
}

Status validate(const StepOptions& options, std::size_t dim) {
  if (dim == 0) return invalid_argument("the model to start from is empty");
  if (!(options.eta > 0.0) || !std::isfinite(options.eta)) {
    return invalid_argument(fmt::format("eta is {}; it must be positive and finite", options.eta));
  }
  if (!options.schedule) return invalid_argument("the schedule is an empty function");
  return validate(options.projection, dim);
}

Status validate(const Averaging& averaging) {
  const auto* constant = std::get_if<ConstantAverage>(&averaging);
  if (constant == nullptr || (constant->gamma > 0.0 && constant->gamma <= 1.0)) return {};
  return invalid_argument(fmt::format("gamma is {}; it must be in (0, 1]", constant->gamma));
}

template <typename Real>
Status prepare_start(const StepOptions& options, std::vector<Real>& start) {
  BALLAST_TRY_STATUS(validate(options, start.size()));
  BALLAST_TRY_STATUS(check_vector<Real>(start, start.size(), "the model to start from"));
  project<Real>(options.projection, start);
  return {};
}

double rate_of(const StepOptions& options, std::uint64_t step, double alpha, double scale) {
  return options.eta * options.schedule(step) * alpha * scale;
}

template <typename Real>
using Shared = std::shared_ptr<const std::vector<Real>>;

template <typename Real>
class SgdServer final : public ServerOptimizer<Real> {
 public:
  SgdServer(StepOptions options, std::vector<Real> start)
      : options_(std::move(options)),
        iterates_(options_.backend, start.size()),
        w_(iterates_.make(std::move(start))) {}

  const Shared<Real>& model() const noexcept override { return iterates_.host(w_); }
  void read(std::span<Real> to) const override { iterates_.read(w_, to); }
  std::uint64_t version() const noexcept override { return steps_; }
  OptimizerStateView<Real> view() const noexcept override {
    return {.steps = steps_, .w = *model(), .x = {}};
  }

  Status step(std::span<const Real> direction, double scale) override {
    return follow(direction, scale);
  }
  Status step(const kernels::Vector& direction, double scale) override {
    return follow(direction, scale);
  }

  Status restore(OptimizerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, model()->size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, 0, "x"));
    w_ = iterates_.make(std::move(state.w));
    steps_ = state.steps;
    return {};
  }

 private:
  template <typename Direction>
  Status follow(const Direction& direction, double scale) {
    const std::uint64_t t = steps_ + 1;
    Iterate<Real> next = iterates_.take();
    const double rate = rate_of(options_, t, 1.0, scale);
    if (!iterates_.descend(w_, iterates_.direction(direction), rate, next)) {
      return refuse_step(t);
    }
    iterates_.project(options_.projection, next);
    std::swap(w_, next);
    iterates_.give_back(std::move(next));
    steps_ = t;
    return {};
  }

  StepOptions options_;
  Iterates<Real> iterates_;
  std::uint64_t steps_ = 0;
  Iterate<Real> w_;
};

template <typename Real>
class Mu2Server final : public ServerOptimizer<Real> {
 public:
  Mu2Server(StepOptions options, const Averaging& averaging, std::vector<Real> start)
      : options_(std::move(options)),
        averaging_(averaging),
        iterates_(options_.backend, start.size()),
        w_(iterates_.make(start)),
        next_w_(iterates_.make(std::vector<Real>(start.size()))),
        x_(iterates_.make(std::move(start))) {}

  const Shared<Real>& model() const noexcept override { return iterates_.host(x_); }
  void read(std::span<Real> to) const override { iterates_.read(x_, to); }
  std::uint64_t version() const noexcept override { return steps_; }
  OptimizerStateView<Real> view() const noexcept override {
    return {.steps = steps_, .w = *iterates_.host(w_), .x = *model()};
  }

  Status step(std::span<const Real> direction, double scale) override {
    return follow(direction, scale);
  }
  Status step(const kernels::Vector& direction, double scale) override {
    return follow(direction, scale);
  }

  Status restore(OptimizerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, model()->size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, model()->size(), "x"));
    w_ = iterates_.make(std::move(state.w));
    x_ = iterates_.make(std::move(state.x));
    steps_ = state.steps;
    return {};
  }

 private:
  template <typename Direction>
  Status follow(const Direction& direction, double scale) {
    const std::uint64_t t = steps_ + 1;
    Iterate<Real> next_x = iterates_.take();
    const double rate = rate_of(options_, t, alpha(t), scale);
    if (!take_both_steps(iterates_.direction(direction), t, rate, next_x)) return refuse_step(t);
    std::swap(w_, next_w_);
    std::swap(x_, next_x);
    iterates_.give_back(std::move(next_x));
    steps_ = t;
    return {};
  }

  // Writes next_w_ and next_x; without a projection between them, in one pass. A point that is not
  // finite before it is projected has no nearest point in the set.
  template <typename Direction>
  bool take_both_steps(const Direction& direction, std::uint64_t t, double rate,
                       Iterate<Real>& next_x) {
    const double share = share_of_newest(t);
    if (std::holds_alternative<NoProjection>(options_.projection)) {
      return iterates_.descend_and_average(w_, direction, rate, x_, share, next_w_, next_x);
    }
    if (!iterates_.descend(w_, direction, rate, next_w_)) return false;
    iterates_.project(options_.projection, next_w_);
    return iterates_.average(next_w_, x_, share, next_x);
  }

  double alpha(std::uint64_t t) const noexcept {
    return std::holds_alternative<LinearAverage>(averaging_) ? static_cast<double>(t) : 1.0;
  }

  // The share of w_{t+1} in x_{t+1}; for alpha_t = t it is (t+1) / (1 + ... + (t+1)).
  double share_of_newest(std::uint64_t t) const noexcept {
    const auto* constant = std::get_if<ConstantAverage>(&averaging_);
    return constant != nullptr ? constant->gamma : 2.0 / static_cast<double>(t + 2);
  }

  StepOptions options_;
  Averaging averaging_;
  Iterates<Real> iterates_;
  std::uint64_t steps_ = 0;
  Iterate<Real> w_;
  Iterate<Real> next_w_;  // kept between steps
  Iterate<Real> x_;
};

}  // namespace

template <typename Real>
Result<ServerOptimizerPointer<Real>> make_mu2_server(const StepOptions& options,
                                                     const Averaging& averaging,
                                                     std::vector<Real> start) {
  BALLAST_TRY_STATUS(validate(averaging));
  BALLAST_TRY_STATUS(prepare_start(options, start));
  return std::make_unique<Mu2Server<Real>>(options, averaging, std::move(start));
}

template <typename Real>
Result<ServerOptimizerPointer<Real>> make_sgd_server(const StepOptions& options,
                                                     std::vector<Real> start) {
  BALLAST_TRY_STATUS(prepare_start(options, start));
  return std::make_unique<SgdServer<Real>>(options, std::move(start));
}

template Result<ServerOptimizerPointer<float>> make_mu2_server(const StepOptions&, const Averaging&,
                                                               std::vector<float>);
template Result<ServerOptimizerPointer<double>> make_mu2_server(const StepOptions&,
                                                                const Averaging&,
                                                                std::vector<double>);
template Result<ServerOptimizerPointer<float>> make_sgd_server(const StepOptions&,
                                                               std::vector<float>);
template Result<ServerOptimizerPointer<double>> make_sgd_server(const StepOptions&,
                                                                std::vector<double>);

}  // namespace ballast::optim
