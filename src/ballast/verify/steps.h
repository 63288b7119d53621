#pragma once
// Sees the steps of a server from inside: what its optimizer was given and what it did.
//
// The paper's proofs speak of the direction that the server steps along and of w, which no worker
// and no observer of arrivals gets to see. So claims watch the optimizer itself and recompute
// nothing that the server might have computed otherwise.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/optim/server_optimizer.h"

namespace ballast::verify {

// Step t leads from (w_t, x_t) to (w_{t+1}, x_{t+1}). Borrowed.
struct StepRecord {
  std::uint64_t t = 0;               // counts from 1
  std::span<const float> direction;  // d_t, as the server gave it to the optimizer
  std::span<const float> w, x;
  std::span<const float> next_w, next_x;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  // Called after each step that was taken, before the arrival that caused it is told.
  virtual void on_step(const StepRecord& record) = 0;
};

// The same optimizer, which tells its steps. The observers are borrowed.
optim::ServerOptimizerPointer<float> watched(optim::ServerOptimizerPointer<float> optimizer,
                                             std::span<StepObserver* const> observers);

}  // namespace ballast::verify
