#pragma once
// The worker as a state machine: model in, update out. No clock, no socket, no thread; whoever
// carries the models and updates (a transport, the simulator) calls it.
//
// The k-th update draws a fresh sample and takes its gradient at the model just received and, where
// the estimator asks for it, at the model of the update before: these two models, whatever happened
// on the server in between.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/optim/estimator.h"
#include "ballast/worker/behaviour.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::worker {

// A model as it arrives. Borrowed.
struct ModelView {
  std::uint64_t version = 0;
  std::span<const float> values;
};

// What is to be sent. Borrowed from the worker until its next call.
struct WorkerUpdate {
  std::uint64_t sequence = 0;  // k: the first update of a worker is 1
  std::uint64_t version = 0;   // of the model it was computed on
  std::span<const float> values;
  std::span<const float> statistics;  // the worker's own running statistics
  double loss = 0.0;                  // of the sample at that model
};

struct WorkerOptions {
  std::uint64_t seed = 0;
  std::uint32_t id = 0;
  optim::EstimatorOptions estimator = optim::Mu2Estimator{};
};

// Everything that changes from update to update; a restored copy goes on bit for bit.
struct WorkerState {
  optim::EstimatorState<float> estimator;
  std::vector<float> previous_model;  // of the last update; empty before the first
  std::vector<float> statistics;

  bool operator==(const WorkerState&) const = default;
};

class Worker {
 public:
  // The source and the behaviour are borrowed and outlive the worker. Refuses options out of range,
  // and a behaviour whose label map, trigger or statistics do not fit the source.
  static Result<Worker> make(const WorkerOptions& options, GradientSource& source,
                             const Behaviour* behaviour = nullptr);

  // Computes the next update. A model of the wrong size or not finite, a failing source, and an
  // update that is not finite are errors and change nothing; the next call draws the same sample.
  //
  // Cost: one or two gradients; allocates nothing of its own after the first update.
  Result<WorkerUpdate> on_model(const ModelView& model);

  // The last update once more, for a worker that was restored: `version` and `loss` are those that
  // came with it.
  // Requires: at least one update was made.
  WorkerUpdate last_update(std::uint64_t version, double loss);

  WorkerState state() const;

  // Replaces the state. One that does not fit the source or is not finite is an error and changes
  // nothing.
  Status restore(WorkerState state);

 private:
  Worker(const WorkerOptions& options, GradientSource& source, const Behaviour* behaviour,
         std::vector<int> label_map, std::optional<Trigger> trigger,
         optim::Estimator<float> estimator);
  Status check(const ModelView& model) const;
  struct Computed {
    double loss = 0.0;
    std::span<const float> values;
  };
  Result<Computed> compute(std::span<const float> model, const Sample& sample);
  WorkerUpdate sent(const SampleKey& key, std::uint64_t version, const Computed& computed);

  std::uint64_t seed_;
  std::uint32_t id_;
  GradientSource* source_;
  const Behaviour* behaviour_;
  std::vector<int> label_map_;
  std::optional<Trigger> trigger_;
  optim::Estimator<float> estimator_;
  std::vector<float> previous_model_;
  std::vector<float> statistics_;

  // Kept between calls, so that they allocate nothing.
  std::vector<float> gradient_;
  std::vector<float> previous_gradient_;
  std::vector<float> next_statistics_;
  std::vector<float> changed_;  // by the behaviour
  std::vector<float> changed_statistics_;
};

}  // namespace ballast::worker
