#pragma once
// The server's half of an optimizer: turns aggregated directions into models.
//
// The names are those of Algorithm 2 (Dahan and Levy 2024): w is the iterate, x the model that the
// workers are sent, step t = 1, 2, ... leads from (w_t, x_t) to (w_{t+1}, x_{t+1}), and w_1 = x_1.
// The float instances train, in the memory and with the threads of a backend; the double ones are
// for checks against the theory. Arithmetic is in double in both.
//
// Thread-safety: none; one thread owns an optimizer.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/optim/projection.h"
#include "ballast/optim/schedule.h"

namespace ballast::optim {

// Everything that changes from step to step; a restored copy goes on bit for bit.
template <typename Real>
struct OptimizerState {
  std::uint64_t steps = 0;  // steps taken so far: the version of the model
  std::vector<Real> w;
  std::vector<Real> x;  // empty where the model is w itself

  bool operator==(const OptimizerState&) const = default;
};

// The same, borrowed.
template <typename Real>
struct OptimizerStateView {
  std::uint64_t steps = 0;
  std::span<const Real> w;
  std::span<const Real> x;
};

template <typename Real>
class ServerOptimizer {
 public:
  using Model = std::shared_ptr<const std::vector<Real>>;

  virtual ~ServerOptimizer() = default;

  // x: what the workers compute their next gradients at. No later step changes it, so whoever needs
  // it, on any thread and for however long, keeps a copy of the pointer; never null.
  // Cost: none in host memory, where the step wrote it; from a device it is read back once.
  virtual const Model& model() const noexcept = 0;

  // Copies x to memory of the host or, where the backend works on a device, of that device.
  // Requires: room for as many values as the model has.
  virtual void read(std::span<Real> to) const { std::ranges::copy(*model(), to.begin()); }

  // Number of steps taken.
  virtual std::uint64_t version() const noexcept = 0;

  // Moves w against the direction, and x after it; the length of the step is multiplied by `scale`.
  // A step that would leave the finite numbers is an error and changes nothing.
  //
  // Requires: direction.size() == model()->size(). A direction of another backend is copied.
  // Cost: one pass over vectors of that size, more with a projection; allocates a model only while
  // earlier ones are still held.
  virtual Status step(const kernels::Vector& direction, double scale = 1.0) = 0;

  // The same from host memory, which a backend elsewhere copies.
  virtual Status step(std::span<const Real> direction, double scale = 1.0) = 0;

  // In host memory, valid until the next step or restore.
  virtual OptimizerStateView<Real> view() const noexcept = 0;

  OptimizerState<Real> state() const {
    const OptimizerStateView<Real> now = view();
    return {
        .steps = now.steps, .w = {now.w.begin(), now.w.end()}, .x = {now.x.begin(), now.x.end()}};
  }

  // Replaces the state. One of the wrong size or with values that are not finite is an error and
  // changes nothing.
  virtual Status restore(OptimizerState<Real> state) = 0;
};

template <typename Real>
using ServerOptimizerPointer = std::unique_ptr<ServerOptimizer<Real>>;

// The part that all optimizers share: w_{t+1} = project(w_t - eta * schedule(t) * alpha_t * d_t).
struct StepOptions {
  double eta = 0.01;
  RateSchedule schedule = constant_schedule();
  Projection projection = NoProjection{};
  // Where float vectors live and are stepped: that of the table whose directions are followed.
  // Null: the CPU, with one thread.
  std::shared_ptr<const kernels::Backend> backend = nullptr;
};

// The theory's average: alpha_t = t, x_{t+1} = (1 w_1 + 2 w_2 + ... + (t+1) w_{t+1}) / (1 + ... +
// (t+1)). As a recursion, the newest iterate gets the share 2 / (t + 2). Stored in float, x no
// longer follows a w that is nearer than about t * 2^-25 of its size.
struct LinearAverage {};

// The practice of the paper's experiments: alpha_t = 1, x_{t+1} = gamma w_{t+1} + (1 - gamma) x_t.
struct ConstantAverage {
  double gamma = 0.1;
};

using Averaging = std::variant<LinearAverage, ConstantAverage>;

// The server of mu^2-SGD. The start is projected first, because the theory wants w_1 in K.
//
// Refuses an eta that is not positive and finite, a gamma outside (0, 1], a wrong projection, a
// missing schedule, and a start that is empty or not finite. Instantiated for float and double.
template <typename Real>
Result<ServerOptimizerPointer<Real>> make_mu2_server(const StepOptions& options,
                                                     const Averaging& averaging,
                                                     std::vector<Real> start);

// The server of SGD and of SGD with worker momentum: alpha_t = 1 and x = w. Refuses the same.
template <typename Real>
Result<ServerOptimizerPointer<Real>> make_sgd_server(const StepOptions& options,
                                                     std::vector<Real> start);

}  // namespace ballast::optim
