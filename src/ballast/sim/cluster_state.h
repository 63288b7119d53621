#pragma once
// All of a simulated run that changes from arrival to arrival: what a checkpoint inside a run holds
// and what a restored run goes on from, bit for bit. Arrivals, sources and settings are not part of
// it; whoever goes on makes them anew from the same specification.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attacks/attack_memory.h"
#include "ballast/base/error.h"
#include "ballast/server/state.h"
#include "ballast/worker/worker.h"

namespace ballast::sim {

// A worker between two arrivals. Its next update is computed already where it will ever arrive, so
// that nothing is under way; the update follows from the state and these two.
struct WorkerProgress {
  worker::WorkerState state;
  bool has_update = false;
  std::uint64_t version = 0;  // of the model that the update was computed on
  double loss = 0.0;          // of its sample
  double seconds = 0.0;       // spent computing so far
};

// What the adversary has seen and remembers: see adversary.h. Empty where nobody colludes.
struct AdversaryStateView {
  std::vector<std::span<const float>> updates;
  std::vector<std::uint64_t> counts;
  std::optional<std::uint32_t> last_honest = std::nullopt;
  const attacks::AttackMemory* memory = nullptr;
};

struct AdversaryState {
  std::vector<std::vector<float>> updates;
  std::vector<std::uint64_t> counts;
  std::optional<std::uint32_t> last_honest = std::nullopt;
  attacks::AttackMemory memory;
};

// What is written is borrowed, but for the workers.
struct ClusterStateView {
  std::uint64_t arrivals = 0;
  std::uint64_t byzantine_arrivals = 0;
  server::ServerStateView server;
  std::vector<WorkerProgress> workers;
  AdversaryStateView adversary;
  std::uint64_t held = 0;  // arrivals that the adversary holds back
};

struct ClusterState {
  std::uint64_t arrivals = 0;
  std::uint64_t byzantine_arrivals = 0;
  server::ServerState server;
  std::vector<WorkerProgress> workers;
  AdversaryState adversary;
  std::uint64_t held = 0;
};

// Saves the state of a run every so often.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;

  // Asked between two arrivals; a run that is stopped on request is saved in any case.
  virtual bool is_due() = 0;

  // An error ends the run with it. The state is valid during the call.
  virtual Status save(const ClusterStateView& state) = 0;
};

}  // namespace ballast::sim
