#pragma once
// The batch that a sample's key names, whatever engine computes on it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"
#include "ballast/worker/sample.h"

namespace ballast::learn {

// Refuses a missing data set and one with another shape or number of classes.
Status check_fit(const std::shared_ptr<const data::Dataset>& dataset, const data::Shape& input,
                 int class_count);

// A batch and the memory it is made in; it keeps its memory when it is filled again.
struct DrawnBatch {
  std::vector<std::uint32_t> indices;
  std::vector<float> images;  // normalised and augmented, samples x channels x height x width
  std::vector<int> labels;    // what the sample takes the true labels for
};

// Thread-safety: immutable; any number of threads, each with its own DrawnBatch.
class Batches {
 public:
  // Refuses what Model::make_source refuses.
  static Result<Batches> make(const TrainingData& training, const data::Shape& input,
                              int class_count);

  int class_count() const noexcept { return training_.dataset->class_count(); }

  // Refuses a trigger that does not fit the images or names no class.
  Status check_trigger(const worker::Trigger& trigger) const;

  // Refuses the key of a worker that the partition does not have.
  //
  // Requires: a trigger that check_trigger() allows.
  // Determinism: a function of the data and the sample.
  Status draw(const worker::Sample& sample, DrawnBatch& batch) const;

 private:
  explicit Batches(TrainingData training) : training_(std::move(training)) {}

  TrainingData training_;
};

}  // namespace ballast::learn
