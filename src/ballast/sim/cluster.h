#pragma once
// A simulated cluster: the real server and real workers, driven by a list of arrivals.
//
// At the start every worker joins and computes on the first model. At each arrival the sender's
// finished update reaches the server, and the reply starts its next computation. Who arrives is
// known beforehand, so gradients of different workers are computed in parallel, the most urgent
// first, and an update that will never arrive is not computed.
//
// Determinism: records and models are the same bits for any number of threads; only the seconds
// differ.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/optim/estimator.h"
#include "ballast/server/parameter_server.h"
#include "ballast/sim/arrival.h"
#include "ballast/sim/cluster_state.h"
#include "ballast/sim/observer.h"
#include "ballast/worker/gradient_source.h"

namespace ballast::sim {

struct ClusterOptions {
  Population workers = {};
  optim::EstimatorOptions estimator = optim::Mu2Estimator{};
  std::uint64_t seed = 0;   // of the workers' samples
  std::size_t threads = 1;  // that compute gradients, the caller's included
  // Looked at between two arrivals; true ends the run early. Borrowed.
  const std::atomic<bool>* stop = nullptr;
};

// Borrowed for the run.
struct ClusterParts {
  server::ParameterServer& server;
  // One for each worker, by number. Workers may share a source only if it may be called from
  // several threads at once, or if there is one thread.
  std::span<worker::GradientSource* const> sources;
  const attacks::Attack* attack = nullptr;  // of the Byzantine workers; without one they are honest
  std::span<Observer* const> observers = {};
  CheckpointSink* checkpoints = nullptr;  // none: nothing is saved
  // Of the adversary's own, made like the server's: for attacks that need a preview of it.
  server::Method* preview_method = nullptr;
};

enum class Ending : std::uint8_t {
  kComplete,    // every arrival was delivered
  kByObserver,  // an observer asked for it
  kByRequest,   // ClusterOptions::stop was set
};

struct RunResult {
  Ending ending = Ending::kComplete;
  std::uint64_t arrivals = 0;            // delivered
  std::uint64_t byzantine_arrivals = 0;  // of these
  std::vector<double> gradient_seconds;  // spent computing, of each worker
};

// Delivers the arrivals in order. Refused updates are recorded; their worker starts again from the
// newest model. A failing worker is an error that names it and its arrival; arrivals that
// name strangers, sources that do not fit, and no threads are refused before anything is computed.
//
// A Byzantine worker that colludes sees the honest workers' last accepted updates, their counts and
// the newest model at the moment its update arrives. An attack that chooses its time lets Byzantine
// arrivals come later than the list says, never earlier; the other arrivals keep their order.
//
// With a state to go on from, the run continues as if it had never been cut: the server is
// restored, and the arrivals before are not delivered again. A state of another run is refused.
Result<RunResult> run(const ClusterOptions& options, const ClusterParts& parts,
                      std::span<const Arrival> arrivals,
                      std::optional<ClusterState> from = std::nullopt);

}  // namespace ballast::sim
