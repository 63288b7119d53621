#pragma once
// Both halves of an optimizer: how a worker makes updates of gradients, and how the server makes
// steps of directions.

#include <cstdint>
#include <functional>
#include <optional>

namespace ballast {

enum class OptimizerKind : std::uint8_t {
  kSgd,       // an update is a gradient
  kMomentum,  // d_k = momentum d_{k-1} + (1 - momentum) g, on the workers
  kMu2,       // corrected momentum and averaged models: Dahan and Levy 2024, Algorithm 2
};

struct Optimizer {
  OptimizerKind kind = OptimizerKind::kSgd;
  double eta = 0.01;                  // the length of a step
  double momentum = 0.9;              // kMomentum
  double beta = 0.25;                 // kMu2: the share of the fresh gradient, or
  bool is_theory = false;             // kMu2: beta = 1/k and the theory's average in place of gamma
  double gamma = 0.1;                 // kMu2: the share of the newest iterate in the model
  std::optional<double> radius = {};  // the model stays so near to the origin
  // The factor on eta at step 1, 2, ...: a pure function. None: 1.
  std::function<double(std::uint64_t step)> schedule = {};
};

}  // namespace ballast
