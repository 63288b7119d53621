#pragma once
// A parameter server as a plain object, without network, thread or clock: for a training loop of
// your own in one process. Every call is a function of the state and the arguments.
//
// Calls in the wrong order and arguments that do not fit are errors and change nothing; an update
// that is merely bad is judged, like one from the network.
//
// Thread-safety: one thread at a time. Snapshots may be read from any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ballast/error.h"
#include "ballast/training.h"

namespace ballast {

struct UpdateOutcome {
  Verdict verdict = Verdict::kAccepted;
  bool has_stepped = false;     // whether the model moved
  std::uint64_t staleness = 0;  // of the update
  Snapshot next;                // the model that this worker computes on now
};

class ParameterServer {
 public:
  // Refuses a training that cannot work: an empty start, an unknown rule, no workers, ...
  static Result<ParameterServer> make(std::size_t worker_count, Training training);

  ParameterServer(ParameterServer&&) noexcept;
  ParameterServer& operator=(ParameterServer&&) noexcept;
  ~ParameterServer();

  // The worker begins, or begins anew: what was held of it is forgotten. Returns the model to
  // compute its first update on.
  Result<Snapshot> join(std::uint32_t worker);

  // Takes an update that was computed on the model the worker was given last.
  Result<UpdateOutcome> update(std::uint32_t worker, std::span<const float> values,
                               std::span<const float> statistics = {});

  // The worker's row, count and weight leave.
  Status leave(std::uint32_t worker);

  Result<Snapshot> model() const;
  Result<WorkerFacts> worker(std::uint32_t worker) const;
  std::uint64_t accepted_count() const noexcept;

 private:
  class Body;
  explicit ParameterServer(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast
