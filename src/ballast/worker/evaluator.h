#pragma once
// How good a model is, on data that no worker trains on.

#include <span>

#include "ballast/base/error.h"

namespace ballast::worker {

struct Evaluation {
  double loss = 0.0;      // mean over the samples
  double accuracy = 0.0;  // share of the samples whose class is found, in [0, 1]
};

// Thread-safety: none; one call at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Requires: the model's and the running statistics' own lengths; no statistics where the model
  // has none.
  virtual Result<Evaluation> evaluate(std::span<const float> model,
                                      std::span<const float> statistics) = 0;
};

}  // namespace ballast::worker
