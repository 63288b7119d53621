#pragma once
// The worker's side of training: a model in, an update out. Momentum and its correction, which
// needs the gradient of one sample at two models, happen in here; you bring the gradients.
//
// Thread-safety: one thread at a time.

#include <cstdint>
#include <memory>
#include <span>

#include "ballast/error.h"
#include "ballast/gradient.h"
#include "ballast/optimizer.h"

namespace ballast {

struct WorkerOptions {
  std::uint64_t seed = 0;
  std::uint32_t number = 0;  // part of the key of each sample
  Optimizer optimizer = {};
};

// Valid until the next call.
struct WorkerUpdate {
  std::span<const float> values;
  std::span<const float> statistics;
  double loss = 0.0;  // of the sample at the model
};

class Worker {
 public:
  static Result<Worker> make(const WorkerOptions& options, std::shared_ptr<GradientSource> source);

  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  // The next update. A model of the wrong size or not finite, a source that fails, and a gradient
  // that is not finite are errors and change nothing.
  Result<WorkerUpdate> update(std::span<const float> model);

  // Forgets all updates, as a worker does that joins anew.
  Status start_anew();

 private:
  class Body;
  explicit Worker(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast
