#pragma once
// What a worker learns from: gradients of a loss at a model, on samples that a key names.

#include <cstddef>
#include <span>

#include "ballast/base/error.h"
#include "ballast/worker/sample.h"

namespace ballast::worker {

// Thread-safety: none; a source may serve several workers, one call at a time.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  // Number of values of a model and of a gradient, at least 1.
  virtual std::size_t dim() const noexcept = 0;

  // Number of classes of the labels, 0 if the samples have none.
  virtual int class_count() const noexcept = 0;

  // Running statistics of a worker that has seen nothing (batch normalisation), empty without any.
  virtual std::span<const float> initial_statistics() const noexcept = 0;

  // Refuses a trigger that its samples cannot have; most sources have no images at all.
  virtual Status check_trigger(const Trigger&) const {
    return unsupported("the samples are no images that a trigger could be put into");
  }

  // Writes the gradient of the sample's loss at the model, and returns that loss. The running
  // statistics move with the sample unless `statistics` is empty.
  //
  // Requires: model and out have dim() values; a trigger that check_trigger() allows; the label map
  // is empty or has class_count() entries; statistics is empty or as long as initial_statistics().
  // Determinism: a function of the arguments alone, so that calls may be made in any order.
  virtual Result<double> gradient(std::span<const float> model, const Sample& sample,
                                  std::span<float> out, std::span<float> statistics) = 0;
};

}  // namespace ballast::worker
