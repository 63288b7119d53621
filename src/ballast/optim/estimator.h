#pragma once
// The worker's half of an optimizer: turns the gradients of fresh samples into updates.
//
// All estimators are one formula. The first update is d_1 = g, and for k = 2, 3, ...
//
//     d_k = g + keep_k * (d_{k-1} - reference)
//
//     mu^2-SGD   keep_k = 1 - beta_k, reference = gradient of the SAME sample at the model of the
//                previous update (corrected momentum: Dahan and Levy 2024, Algorithm 2)
//     momentum   keep_k = b, reference = g, that is d_k = b d_{k-1} + (1 - b) g
//     SGD        keep_k = 0
//
// Momentum starts from d_1 = g, not from d_0 = 0, so every d_k is a mean of gradients whose weights
// add up to 1 and a new worker's row is as long as the others.
//
// Thread-safety: none; one worker owns an estimator.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::optim {

// beta_k = 1/k: the k-th update averages k samples (Theorem 4.1).
struct HarmonicBeta {};

// The paper's experiments use 0.25.
struct ConstantBeta {
  double beta = 0.25;
};

struct Mu2Estimator {
  std::variant<HarmonicBeta, ConstantBeta> beta = ConstantBeta{};
};

struct MomentumEstimator {
  double b = 0.9;
};

struct SgdEstimator {};

using EstimatorOptions = std::variant<Mu2Estimator, MomentumEstimator, SgdEstimator>;

// keep_k of the k-th update, counted from 1, and whether that needs the gradient at the previous
// model: what whoever keeps directions elsewhere needs of the formula.
struct Correction {
  double keep = 0.0;
  bool needs_previous_gradient = false;
};
Correction correction_at(const EstimatorOptions& options, std::uint64_t k);

// Everything that changes from update to update; a restored copy goes on bit for bit.
template <typename Real>
struct EstimatorState {
  std::uint64_t updates = 0;    // k: updates made so far
  std::vector<Real> direction;  // d_k; zeros while k = 0

  bool operator==(const EstimatorState&) const = default;
};

// Instantiated for float (training) and double (checks against the theory); the arithmetic is in
// double.
template <typename Real>
class Estimator {
 public:
  // Refuses beta outside [0, 1], b outside [0, 1) and dim = 0.
  static Result<Estimator> make(const EstimatorOptions& options, std::size_t dim);

  std::size_t dim() const noexcept { return state_.direction.size(); }

  // Number of updates made.
  std::uint64_t updates() const noexcept { return state_.updates; }

  // Whether the next update needs the gradient of its sample at the previous model as well.
  bool needs_previous_gradient() const;

  // Makes the next update; valid until the one after it, or a restore. An update that is not finite
  // is an error and leaves the estimator as it was, so one bad sample does not spoil the updates
  // after it.
  //
  // Requires: gradient has dim() values; so has previous_gradient, the same sample's gradient at
  // the previous update's model, if needs_previous_gradient(), else it is not read.
  Result<std::span<const Real>> update(std::span<const Real> gradient,
                                       std::span<const Real> previous_gradient);

  const EstimatorState<Real>& state() const noexcept { return state_; }

  // Replaces the state. One of the wrong size or with values that are not finite is an error and
  // changes nothing.
  Status restore(EstimatorState<Real> state);

 private:
  Estimator(const EstimatorOptions& options, std::size_t dim);
  double keep() const;

  EstimatorOptions options_;
  EstimatorState<Real> state_;
  std::vector<Real> next_;  // kept between updates
};

}  // namespace ballast::optim
