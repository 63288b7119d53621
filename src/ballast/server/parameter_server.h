#pragma once
// The heart: a deterministic transition of owned state. Admission judges an update, a method turns
// it into a direction, the optimizer steps, an assignment goes out. No clock, thread or socket; the
// network server, the trainer and the simulator are callers of the same functions.
//
// Invariants: (1) the version is the number of steps taken; (2) lifetime counts are never taken
// back and add up to all accepted updates; (3) what a method holds of a worker rests on at most
// that many.
//
// Thread-safety: none; one thread at a time. Snapshots may be read from any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/server/admission.h"
#include "ballast/server/method.h"
#include "ballast/server/update.h"

namespace ballast::server {

struct ServerState;      // state.h
struct ServerStateView;  // state.h

// Which model a worker gets in return for its update.
enum class Reply : std::uint8_t {
  kNewest,  // x_{t+1}, the one its update just made
  kPaper,   // x_t, the one before, as Algorithm 2 has it
};

// What a worker brings when it joins.
enum class Memory : std::uint8_t {
  kFresh,  // nothing: its earlier row, if any, was another life's and leaves
  kKept,   // the state of its earlier updates, after a broken connection
};

struct ServerOptions {
  std::size_t worker_count = 1;
  std::size_t statistic_count = 0;  // running statistics each update brings along
  Reply reply = Reply::kNewest;
  // Whether snapshots hold the model's values. Without, a model on a device is not brought to the
  // host with every step; read_model() copies it to where it is used. For callers that need no
  // values from snapshots, and methods that do not either: that of the table.
  bool shows_models = true;
  AdmissionOptions admission = {};
};

// The parts the server is made of.
struct ServerParts {
  MethodPointer method;
  optim::ServerOptimizerPointer<float> optimizer;
};

// What is known of one worker, by admission and by the method.
struct WorkerRecord {
  std::uint64_t count = 0;               // accepted updates that its row rests on
  std::uint64_t lifetime_count = 0;      // accepted updates in all
  std::uint64_t sequence = 0;            // of the ticket that the last accepted update used
  std::uint64_t weight = 0;              // in units of 1/kWeightUnits
  double kept = 0.0;                     // fraction of its weight that the method used last
  std::uint64_t staleness = 0;           // of the last accepted update
  Instant last_seen = Instant::zero();   // arrival of the last accepted update
  std::optional<std::uint64_t> given{};  // version of the model it is computing on
  std::array<std::uint64_t, kVerdictCount> verdicts{};
};

class ParameterServer {
 public:
  // Refuses what Admission refuses.
  static Result<ParameterServer> make(const ServerOptions& options, ServerParts parts);

  // The number of an enrolled name.
  std::optional<std::uint32_t> find(std::string_view name) const { return admission_.find(name); }

  Status may_enrol(const std::string& name) const { return admission_.may_enrol(name); }
  // Admission::enrol(): the worker may join from now on.
  Result<std::uint32_t> enrol(std::string name);

  // Judges an update sent under a ticket, hands it to the method if it is let through, and steps
  // along the method's direction if there is one. Every field of the update may be a lie.
  //
  // Cost: what the method and the optimizer cost.
  // Determinism: a function of the state and the arguments, whatever the number of threads.
  Judgement on_update(const Update& update, Instant now = Instant::zero());

  // The functions below require worker < worker_count.

  // A worker came, for the first time or again. Any ticket it had is void. None: held.
  std::optional<Assignment> on_join(std::uint32_t worker, Memory memory = Memory::kFresh,
                                    Instant now = Instant::zero());

  // The worker is handed its assignment now. Requires: it has a ticket.
  void on_given(std::uint32_t worker, Instant now) { admission_.note_given(worker, now); }

  // Counts a refusal that was decided outside, before there was an update to judge.
  // Requires: a verdict other than kAccepted.
  void refuse(std::uint32_t worker, Verdict verdict);

  // The connection is gone. The row stays until the worker has been silent for too long.
  void on_disconnect(std::uint32_t worker, Instant now) { admission_.withdraw(worker, now); }

  // The worker said good-bye, or may not take part any more: its row, count and weight leave, as if
  // it had never sent. Its sequence numbers stay used, and the model does not move.
  void on_leave(std::uint32_t worker, Instant now = Instant::zero());

  // Assignments for held workers that may go on now, in order of their numbers.
  std::vector<Assignment> release(Instant now);

  // Takes away the rows and tickets of workers that have been silent for too long; returns who.
  std::vector<std::uint32_t> evict_silent(Instant now);

  bool is_held(std::uint32_t worker) const { return admission_.is_held(worker); }
  bool has_ticket(std::uint32_t worker) const {
    return admission_.sender(worker).ticket.has_value();
  }
  WorkerRecord worker(std::uint32_t worker) const;

  // The values of a worker's last accepted update where the method keeps them, else empty. Valid
  // until the next on_update().
  std::span<const float> row(std::uint32_t worker) const { return method_->row(worker); }

  const Snapshot& model() const noexcept { return newest_; }
  std::size_t dim() const noexcept { return dim_; }

  // Copies the newest model to memory of the host, or of the device that the optimizer works on.
  // Requires: room for dim() values.
  void read_model(std::span<float> to) const { optimizer_->read(to); }

  const ServerOptions& options() const noexcept { return options_; }
  std::size_t worker_count() const noexcept { return options_.worker_count; }
  const Method& method() const noexcept { return *method_; }
  std::uint64_t accepted_count() const noexcept { return accepted_count_; }
  std::uint64_t eviction_count() const noexcept { return eviction_count_; }
  // Updates of workers that do not exist.
  std::uint64_t unknown_count() const noexcept { return unknown_count_; }

  // A new life begins, for example after a resume: tickets of earlier ones do not count any more.
  void begin_incarnation(std::uint64_t number) { admission_.begin_incarnation(number); }
  const AdmissionOptions& admission() const noexcept { return admission_.options(); }

  // Why no step is taken, in words; none while updates can lead to steps.
  std::optional<std::string> pause_reason() const;

  // The workers' running statistics combined by the weighted coordinate-wise median: what an
  // evaluation uses. While the method pauses they are those of the moment before. None before the
  // first update counted.
  // Cost: a median over the workers; on the calling thread.
  std::optional<std::vector<float>> statistics() const;

  // All that changes from update to update. Borrows the vectors: valid until the next change.
  ServerStateView state() const;

  // Replaces the state. A server of the same options and parts then goes on bit for bit like the
  // one that the state was taken from; one with more workers has new ones that never sent. A state
  // that no such server can have is an error and changes nothing.
  Status restore(ServerState state);

 private:
  ParameterServer(const ServerOptions& options, ServerParts parts, Admission admission);
  bool step(const Answer& answer);
  void forget(std::uint32_t worker);
  std::optional<Assignment> assign(std::uint32_t worker, const Snapshot& model, Instant now);
  bool has_statistics() const;  // of workers that have a part in the model
  std::optional<std::vector<float>> combined_statistics() const;
  void publish();

  ServerOptions options_;
  Admission admission_;
  MethodPointer method_;
  optim::ServerOptimizerPointer<float> optimizer_;
  std::vector<std::vector<float>> statistics_;         // of each worker's last update
  std::optional<std::vector<float>> last_statistics_;  // combined, from before a pause
  std::uint64_t accepted_count_ = 0;
  std::uint64_t unknown_count_ = 0;
  std::uint64_t eviction_count_ = 0;
  std::size_t dim_;
  Snapshot newest_;
};

}  // namespace ballast::server
