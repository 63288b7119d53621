#pragma once
// Convex problems about which everything is known: what the theory speaks of can be measured.
//
// Their optimum is the origin. The server keeps models in float, whose resolution is relative: near
// the origin it is fine enough that rounding stays far below every excess loss that is measured.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/optim/projection.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::verify {

// The constants of the paper's assumptions (Section 2), for all models in the set K.
struct Constants {
  double smoothness = 0.0;            // L: of each sample's loss
  double deviation = 0.0;             // sigma: of a sample's gradient from the expected one
  double smoothness_deviation = 0.0;  // sigma_L: of a difference of gradients, per distance
  double diameter = 0.0;              // D: of K
  double optimum_gradient = 0.0;      // G*: length of the gradient at the optimum; 0 inside K
};

// Thread-safety: gradient() keeps no state; one problem serves all workers and runs at once.
class Problem : public worker::GradientSource {
 public:
  virtual const Constants& constants() const noexcept = 0;

  // K, and a point of it to start from.
  virtual optim::Projection set() const = 0;
  virtual std::vector<float> start() const = 0;

  // f(x) - f(x*). Requires: dim() values, as everywhere here.
  virtual double excess(std::span<const float> x) const = 0;

  // The excess of some point of K: so bad a wrong method can be, and a bound above it says nothing.
  virtual double reachable_excess() const = 0;

  // The gradient of f, not of a sample.
  virtual void expected_gradient(std::span<const float> x, std::span<double> out) const = 0;
};

// Names the random choices of this room, apart from those of other rooms; never renumbered.
enum class TrialPurpose : std::uint32_t {
  kLeastSquares = 0x7E51'0001,
  kLogisticFeatures = 0x7E51'0002,
  kLogistic = 0x7E51'0003,
  kHonestRows = 0x7E51'0004,
  kSearch = 0x7E51'0005,
};

}  // namespace ballast::verify
