#pragma once
// What a worker does otherwise than an honest one. A worker without a behaviour is honest; attacks/
// has the behaviours of the literature.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/worker/sample.h"

namespace ballast::worker {

// Determinism: const, and functions of the arguments, so that one behaviour serves many workers.
class Behaviour {
 public:
  virtual ~Behaviour() = default;

  // Before the gradient: the class that each of the classes is taken for, or nothing for the truth.
  // An error if the behaviour cannot do without labels and class_count is 0.
  virtual Result<std::vector<int>> label_map(int class_count) const = 0;

  // Also before it: what part of the images have in a corner; nothing: no images are changed.
  virtual std::optional<Trigger> trigger() const { return std::nullopt; }

  // An error if the behaviour cannot do with so many running statistics.
  virtual Status check_statistics(std::size_t) const { return {}; }

  // After the gradient: turns the running statistics (batch normalisation) that go with an update
  // into those that are sent. The worker goes on from its own.
  virtual void change_statistics(std::span<float>) const {}

  // After the gradient: turns the update an honest worker would send into the one that is sent. The
  // worker goes on from the honest one.
  virtual void change_update(const SampleKey& key, std::span<float> update) const = 0;
};

}  // namespace ballast::worker
