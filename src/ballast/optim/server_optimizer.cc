#include "ballast/optim/server_optimizer.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/optim/elementwise.h"
#include "ballast/optim/finite.h"
#include "ballast/optim/vector_pool.h"

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
  if (!all_finite(values)) return invalid_argument(fmt::format("{} is not finite", name));
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

// Writes the projected w - rate * direction, and returns whether it is finite. A point
// that is not finite before it is projected has no nearest point in the set.
template <typename Real>
bool take_step(const StepOptions& options, double rate, std::span<const Real> direction,
               std::span<const Real> w, std::span<Real> next) {
  if (!descend(w, direction, rate, next)) return false;
  project(options.projection, next);
  return true;
}

template <typename Real>
using Shared = std::shared_ptr<const std::vector<Real>>;

template <typename Real>
Shared<Real> shared(std::vector<Real> values) {
  return std::make_shared<const std::vector<Real>>(std::move(values));
}

template <typename Real>
class SgdServer final : public ServerOptimizer<Real> {
 public:
  SgdServer(StepOptions options, std::vector<Real> start)
      : options_(std::move(options)), pool_(start.size()), w_(shared(std::move(start))) {}

  const Shared<Real>& model() const noexcept override { return w_; }
  std::uint64_t version() const noexcept override { return steps_; }
  ServerStateView<Real> view() const noexcept override {
    return {.steps = steps_, .w = *w_, .x = {}};
  }

  Status step(std::span<const Real> direction, double scale) override {
    BALLAST_CHECK(direction.size() == w_->size(), "the direction has the wrong size");
    const std::uint64_t t = steps_ + 1;
    auto next = pool_.take();
    const double rate = rate_of(options_, t, 1.0, scale);
    if (!take_step<Real>(options_, rate, direction, *w_, *next)) return refuse_step(t);
    w_ = std::move(next);
    steps_ = t;
    return {};
  }

  Status restore(ServerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, w_->size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, 0, "x"));
    w_ = shared(std::move(state.w));
    steps_ = state.steps;
    return {};
  }

 private:
  StepOptions options_;
  VectorPool<Real> pool_;
  std::uint64_t steps_ = 0;
  Shared<Real> w_;
};

template <typename Real>
class Mu2Server final : public ServerOptimizer<Real> {
 public:
  Mu2Server(StepOptions options, const Averaging& averaging, std::vector<Real> start)
      : options_(std::move(options)),
        averaging_(averaging),
        pool_(start.size()),
        w_(start),
        next_w_(start.size()),
        x_(shared(std::move(start))) {}

  const Shared<Real>& model() const noexcept override { return x_; }
  std::uint64_t version() const noexcept override { return steps_; }
  ServerStateView<Real> view() const noexcept override {
    return {.steps = steps_, .w = w_, .x = *x_};
  }

  Status step(std::span<const Real> direction, double scale) override {
    BALLAST_CHECK(direction.size() == w_.size(), "the direction has the wrong size");
    const std::uint64_t t = steps_ + 1;
    auto next_x = pool_.take();
    const double rate = rate_of(options_, t, alpha(t), scale);
    if (!take_both_steps(direction, t, rate, *next_x)) return refuse_step(t);
    w_.swap(next_w_);
    x_ = std::move(next_x);
    steps_ = t;
    return {};
  }

  Status restore(ServerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, w_.size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, w_.size(), "x"));
    w_ = std::move(state.w);
    x_ = shared(std::move(state.x));
    steps_ = state.steps;
    return {};
  }

 private:
  // Writes next_w_ and next_x; without a projection between them, in one pass.
  bool take_both_steps(std::span<const Real> direction, std::uint64_t t, double rate,
                       std::span<Real> next_x) {
    const std::span<const Real> w = w_, x = *x_;
    if (!std::holds_alternative<NoProjection>(options_.projection)) {
      return take_step<Real>(options_, rate, direction, w, next_w_) &&
             average(std::span<const Real>(next_w_), x, share_of_newest(t), next_x);
    }
    return descend_and_average(w, direction, rate, x, share_of_newest(t), std::span<Real>(next_w_),
                               next_x);
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
  VectorPool<Real> pool_;
  std::uint64_t steps_ = 0;
  std::vector<Real> w_;
  std::vector<Real> next_w_;  // kept between steps
  Shared<Real> x_;
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
