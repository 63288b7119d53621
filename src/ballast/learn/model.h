#pragma once
// Models that learn: a network described once, from which the parts of a training run are made.
// nn/ computes the built-in ones, LibTorch is their slow twin and runs any other.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/augment.h"
#include "ballast/data/dataset.h"
#include "ballast/data/partition.h"
#include "ballast/worker/evaluator.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::learn {

// Where a tensor lies in a flat vector.
struct TensorSlot {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;
};

// What the workers of one run learn from.
struct TrainingData {
  std::shared_ptr<const data::Dataset> dataset = nullptr;
  std::shared_ptr<const data::Partition> partition = nullptr;
  data::Augmentation augmentation = {};
  std::size_t batch = 16;
};

// A batch above this is a mistake.
inline constexpr std::size_t kBatchMax = 1 << 16;

// The loss is softmax cross-entropy, averaged over the batch.
//
// Thread-safety: immutable; any number of threads.
class Model {
 public:
  virtual ~Model() = default;

  // Length of the flat parameter vector and of any gradient, at least 1.
  virtual std::size_t dim() const noexcept = 0;

  // Both in the order of their offsets, without gaps. Statistics are the running ones of batch
  // normalisation.
  virtual std::span<const TensorSlot> parameters() const noexcept = 0;
  virtual std::span<const TensorSlot> statistics() const noexcept = 0;

  // The layers in order, each as the call that makes PyTorch's module of that name, such as
  // "Linear(32, 10)"; empty where they are not known, as for a TorchScript file.
  virtual std::vector<std::string> layers() const { return {}; }

  // Determinism: a function of the model and the seed.
  virtual std::vector<float> initial_parameters(std::uint64_t seed) const = 0;
  virtual std::vector<float> initial_statistics() const = 0;

  // A source of the gradients of every worker of the partition; each batch is drawn, augmented and
  // normalised as its key says. It refuses the key of a worker that the partition does not have.
  // Refuses data that do not fit the model or each other, and a batch that is empty or too large.
  //
  // Thread-safety: several threads may ask one source for gradients at the same time.
  virtual Result<std::unique_ptr<worker::GradientSource>> make_source(
      const TrainingData& training) const = 0;

  // Refuses data that do not fit the model.
  virtual Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset> test) const = 0;
};

}  // namespace ballast::learn
