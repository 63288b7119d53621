#pragma once
// What a worker learns from: a class of your own that gives gradients of a loss.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/error.h"

namespace ballast {

// Names one sample: the same key at two models must give the same sample.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint32_t worker = 0;
  std::uint64_t step = 0;  // counts this worker's updates from 1

  // One number made of all three, to seed a generator with.
  std::uint64_t mixed() const noexcept;
};

struct Sample {
  SampleKey key;
  // The class that each class is taken for, by a worker that lies about labels; empty: the truth.
  std::span<const int> label_map = {};
};

// An exception that it throws becomes an error of the call that asked.
//
// Thread-safety: none is asked for; one source is never called from two threads at once.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  // Number of values of a model and of a gradient, at least 1; always the same.
  virtual std::size_t dim() const = 0;

  // Writes the gradient of the sample's loss at the model to `out` and returns the loss. A function
  // of its arguments: calls may come in any order. The running statistics, if the source has any,
  // move with the sample unless `statistics` is empty.
  virtual Result<double> gradient(std::span<const float> model, const Sample& sample,
                                  std::span<float> out, std::span<float> statistics) = 0;

  // Number of classes of the labels, 0 without labels.
  virtual int class_count() const { return 0; }

  // Running statistics (batch normalisation) of a worker that has seen nothing.
  virtual std::span<const float> initial_statistics() const { return {}; }
};

}  // namespace ballast
