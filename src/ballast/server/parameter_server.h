#pragma once
// The heart: a deterministic transition of owned state. An update comes in, is judged, replaces its
// worker's row, the rule combines the rows, the optimizer steps, a reply goes out. No clock, thread
// or socket; the network server, the trainer and the simulator are three callers of on_update().
//
// Invariants: (1) a worker's count is the number of its updates that were accepted since it was
// last removed; (2) it has a row exactly if its count is positive; (3) the version is the number of
// steps taken; (4) lifetime counts are never taken back and add up to all accepted updates.
//
// Thread-safety: none; one thread at a time. Snapshots may be read from any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/robust/row_table.h"
#include "ballast/server/update.h"
#include "ballast/server/weight_policy.h"

namespace ballast::server {

struct ServerState;      // state.h
struct ServerStateView;  // state.h

// Which model a worker gets in return for its update.
enum class Reply : std::uint8_t {
  kNewest,  // x_{t+1}, the one its update just made
  kPaper,   // x_t, the one before, as Algorithm 2 has it
};

struct ServerOptions {
  std::size_t worker_count = 1;
  std::size_t statistic_count = 0;  // running statistics each update brings along
  WeightPolicy weights = CountWeights{};
  Reply reply = Reply::kNewest;
  std::optional<std::uint64_t> staleness_max = std::nullopt;
  std::uint64_t seed = 0;  // of rules that draw random numbers
};

// The parts the server is made of.
struct ServerParts {
  robust::RulePointer rule;
  std::shared_ptr<const kernels::Backend> backend;
  optim::ServerOptimizerPointer<float> optimizer;
};

// What is known of one worker.
struct WorkerRecord {
  std::uint64_t count = 0;      // accepted updates since the last removal: what its row weighs
  std::uint64_t sequence = 0;   // of the last accepted update
  std::uint64_t weight = 0;     // in units of 1/kWeightUnits, after the last accepted update of all
  double kept = 0.0;            // fraction of its weight that the rule used last
  std::uint64_t staleness = 0;  // of the last accepted update
  Instant last_seen = Instant::zero();                  // arrival of the last accepted update
  std::optional<std::uint64_t> given{};                 // version of the model it is computing on
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // tallies of a lifetime

  // Updates accepted in all, whatever was removed since: what decides who may send.
  std::uint64_t lifetime_count() const noexcept {
    return verdicts[static_cast<std::size_t>(Verdict::kAccepted)];
  }
};

class ParameterServer {
 public:
  // Refuses no workers, an impossible weight policy, and a rule that cannot take so many rows.
  static Result<ParameterServer> make(const ServerOptions& options, ServerParts parts);

  // Gives a worker the newest model to start, or to start again, from. What it was computing before
  // will be refused. An error if there is no such worker.
  Result<Snapshot> on_join(std::uint32_t worker);

  // Judges an update and, if it is accepted, steps.
  //
  // Cost: what RowTable and the optimizer cost.
  // Determinism: a function of the state and the arguments, whatever the number of threads.
  Outcome on_update(const Update& update, Instant now = Instant::zero());

  // Counts a refusal that was decided outside, before there was an update to judge.
  // Requires: worker < worker_count, a verdict other than kAccepted.
  void refuse(std::uint32_t worker, Verdict verdict);

  // Takes a worker's row, count and weight away, as if it had never sent. Its sequence numbers stay
  // used. The model does not move.
  // Requires: worker < worker_count.
  void remove(std::uint32_t worker);

  const Snapshot& model() const noexcept { return newest_; }
  std::size_t dim() const noexcept { return newest_.values->size(); }
  const ServerOptions& options() const noexcept { return options_; }
  std::uint64_t accepted_count() const noexcept { return accepted_count_; }

  // Whether the weight policy has enough rows to step.
  bool has_quorum() const noexcept { return has_quorum_; }

  // Requires: worker < worker_count.
  const WorkerRecord& worker(std::uint32_t worker) const { return workers_[worker]; }
  std::span<const WorkerRecord> workers() const noexcept { return workers_; }

  // The weight of each worker, in units of 1/kWeightUnits; all 0 below the quorum.
  std::span<const std::uint64_t> weights() const noexcept { return weights_; }
  std::size_t row_count() const noexcept { return table_.filled_count(); }

  // Updates of names that do not exist; they have no WorkerRecord.
  std::uint64_t unknown_count() const noexcept { return unknown_count_; }

  // A worker's row, empty before its first accepted update. Valid until the next on_update().
  std::span<const float> row(std::uint32_t worker) const noexcept { return table_.row(worker); }

  // Norm of each worker's row and its distance to the last direction; zeros where there is no row.
  // Cost: two reads of all rows.
  std::vector<robust::RowMeasure> measure_rows() const;

  // The workers' running statistics combined by the weighted coordinate-wise median: what an
  // evaluation uses. An error while there are none.
  Result<std::vector<float>> statistics() const;

  // All that changes from update to update. Borrows the vectors: valid until the next on_update().
  ServerStateView state() const;

  // Replaces the state. A server of the same options and parts then goes on bit for bit like the
  // one that the state was taken from. A state that no such server can have is an error and changes
  // nothing.
  Status restore(ServerState state);

 private:
  ParameterServer(const ServerOptions& options, ServerParts parts);
  Verdict judge(const Update& update) const;
  Status accept(const Update& update, Instant now);
  Status weigh();
  bool step();
  void publish();

  ServerOptions options_;
  optim::ServerOptimizerPointer<float> optimizer_;
  robust::RowTable table_;
  std::vector<WorkerRecord> workers_;
  std::vector<std::vector<float>> statistics_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> weights_;
  bool has_quorum_ = false;
  std::uint64_t accepted_count_ = 0;
  std::uint64_t unknown_count_ = 0;
  Snapshot newest_;
};

}  // namespace ballast::server
