#include "ballast/optim/server_optimizer.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/optim/elementwise.h"
#include "ballast/optim/finite.h"

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

double rate_of(const StepOptions& options, std::uint64_t step, double alpha) {
  return options.eta * options.schedule(step) * alpha;
}

// Writes the projected w - eta_t * alpha * direction, and returns whether it is finite. A point
// that is not finite before it is projected has no nearest point in the set.
template <typename Real>
bool take_step(const StepOptions& options, std::uint64_t step, double alpha,
               std::span<const Real> direction, std::span<const Real> w, std::span<Real> next) {
  if (!descend(w, direction, rate_of(options, step, alpha), next)) return false;
  project(options.projection, next);
  return true;
}

template <typename Real>
class SgdServer final : public ServerOptimizer<Real> {
 public:
  SgdServer(StepOptions options, std::vector<Real> start)
      : options_(std::move(options)), next_w_(start.size()) {
    state_.w = std::move(start);
  }

  std::span<const Real> model() const noexcept override { return state_.w; }
  std::uint64_t version() const noexcept override { return state_.steps; }
  const ServerState<Real>& state() const noexcept override { return state_; }

  Status step(std::span<const Real> direction) override {
    BALLAST_CHECK(direction.size() == state_.w.size(), "the direction has the wrong size");
    const std::uint64_t t = state_.steps + 1;
    if (!take_step<Real>(options_, t, 1.0, direction, state_.w, next_w_)) return refuse_step(t);
    state_.w.swap(next_w_);
    state_.steps = t;
    return {};
  }

  Status restore(ServerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, state_.w.size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, 0, "x"));
    state_ = std::move(state);
    return {};
  }

 private:
  StepOptions options_;
  ServerState<Real> state_;
  std::vector<Real> next_w_;
};

template <typename Real>
class Mu2Server final : public ServerOptimizer<Real> {
 public:
  Mu2Server(StepOptions options, const Averaging& averaging, std::vector<Real> start)
      : options_(std::move(options)),
        averaging_(averaging),
        next_w_(start.size()),
        next_x_(start.size()) {
    state_.w = start;
    state_.x = std::move(start);
  }

  std::span<const Real> model() const noexcept override { return state_.x; }
  std::uint64_t version() const noexcept override { return state_.steps; }
  const ServerState<Real>& state() const noexcept override { return state_; }

  Status step(std::span<const Real> direction) override {
    BALLAST_CHECK(direction.size() == state_.w.size(), "the direction has the wrong size");
    const std::uint64_t t = state_.steps + 1;
    if (!take_both_steps(direction, t)) return refuse_step(t);
    state_.w.swap(next_w_);
    state_.x.swap(next_x_);
    state_.steps = t;
    return {};
  }

  Status restore(ServerState<Real> state) override {
    BALLAST_TRY_STATUS(check_vector<Real>(state.w, state_.w.size(), "w"));
    BALLAST_TRY_STATUS(check_vector<Real>(state.x, state_.x.size(), "x"));
    state_ = std::move(state);
    return {};
  }

 private:
  // Writes next_w_ and next_x_; without a projection between them, in one pass.
  bool take_both_steps(std::span<const Real> direction, std::uint64_t t) {
    const std::span<const Real> w = state_.w, x = state_.x;
    if (!std::holds_alternative<NoProjection>(options_.projection)) {
      return take_step<Real>(options_, t, alpha(t), direction, w, next_w_) &&
             average(std::span<const Real>(next_w_), x, share_of_newest(t),
                     std::span<Real>(next_x_));
    }
    return descend_and_average(w, direction, rate_of(options_, t, alpha(t)), x, share_of_newest(t),
                               std::span<Real>(next_w_), std::span<Real>(next_x_));
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
  ServerState<Real> state_;
  std::vector<Real> next_w_;  // kept between steps, so that a step allocates nothing
  std::vector<Real> next_x_;
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
