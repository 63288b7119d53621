#pragma once
// Who may send next, and when: what a server needs in front of ParameterServer once its workers are
// on a network where some of them race, vanish or lie.
//
// Invariants: (1) a worker has at most one ticket that counts, and each ticket counts once;
// (2) while fewer rows exist than the weight policy needs, a worker that has a row gets no ticket:
// the start barrier, and the pause when too many have gone; (3) nobody gets further ahead than the
// lead limit, counted over its lifetime, so f Byzantine workers make a bounded part of the accepted
// updates at any speed and however often they join anew; (4) with capped weights the f heaviest
// hold at most their share at every step.
//
// Like ParameterServer it has no clock, thread or socket: time is an argument.
//
// Thread-safety: none; one thread owns it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/wire/ticket.h"

namespace ballast::server {

// Worker i gets its next model only while s_i + 1 <= kappa * s_(f+1) + slack, s being the updates
// accepted in a worker's lifetime and s_(f+1) the (f+1)-th largest of them: at most f Byzantine
// workers stand above it, so it never exceeds that of the fastest honest worker. Without an f
// (weights other than capped) nobody is ahead of anybody and the limit holds no one back.
struct LeadLimit {
  double kappa = 2.0;
  double slack = 2.0;
};

struct CoordinatorOptions {
  std::uint64_t incarnation = 1;        // rises with every start of the server
  std::vector<std::string> names = {};  // enrolled workers; the place is the worker's number
  LeadLimit lead = {};
  // A worker that owes us something for longer than this loses its row. 0: never.
  Instant silence_max = Instant::zero();
};

// Permission for one update, and the model to compute it on.
struct Assignment {
  wire::Ticket ticket;
  Snapshot model;
  std::uint64_t count = 0;              // accepted updates of this worker so far: its k is one more
  std::uint64_t accepted_sequence = 0;  // of the ticket it used for the last one; 0: none yet
};

// What a worker brings when it joins.
enum class Memory : std::uint8_t {
  kFresh,  // nothing: its earlier row, if any, was another life's and leaves
  kKept,   // the state of its earlier updates, after a broken connection
};

struct Judgement {
  Outcome outcome;
  std::optional<Assignment> next;  // none: held until others have moved on
};

class Coordinator {
 public:
  // Refuses names that are empty, too long, repeated or not as many as the server has workers, and
  // a lead limit that would hold everybody (kappa or slack below 1).
  static Result<Coordinator> make(CoordinatorOptions options, ParameterServer server);

  // The number of an enrolled name.
  std::optional<std::uint32_t> find(std::string_view name) const;

  // The functions below require worker < worker_count.

  // A worker came, for the first time or again. Any ticket it had is void. None: held.
  std::optional<Assignment> on_join(std::uint32_t worker, Memory memory, Instant now);

  // Judges an update sent under a ticket that was checked to be ours; it may still be old, or
  // somebody else's. The update's worker is who sent it, its sequence and version are the ticket's.
  Judgement on_update(const wire::Ticket& ticket, Update update, Instant now);

  // Counts a refusal decided before there was an update to judge.
  void refuse(std::uint32_t worker, Verdict verdict) { server_.refuse(worker, verdict); }

  // The connection is gone. The row stays until the worker has been silent for too long.
  void on_disconnect(std::uint32_t worker, Instant now);

  // The worker said good-bye: its row leaves.
  void on_leave(std::uint32_t worker);

  // Assignments for held workers that may go on now, in order of their numbers.
  std::vector<Assignment> release(Instant now);

  // Takes away the rows and tickets of workers that have been silent for too long; returns who.
  std::vector<std::uint32_t> evict_silent(Instant now);

  bool is_held(std::uint32_t worker) const { return members_[worker].is_held; }
  bool has_ticket(std::uint32_t worker) const { return members_[worker].ticket.has_value(); }

  // Why no step is taken, in words; none while the server steps.
  std::optional<std::string> pause_reason() const;

  // The share of weight that the f heaviest held at the last accepted update, f being that of the
  // capped weights (1 where there is none), and the largest it ever was.
  double heaviest_share() const noexcept { return heaviest_share_; }
  double heaviest_share_max() const noexcept { return heaviest_share_max_; }

  const ParameterServer& server() const noexcept { return server_; }
  const CoordinatorOptions& options() const noexcept { return options_; }
  std::uint64_t eviction_count() const noexcept { return eviction_count_; }

 private:
  struct Member {
    std::uint64_t issued = 0;  // sequence of the last ticket
    std::optional<wire::Ticket> ticket;
    bool is_held = false;  // connected and waiting for us
    Instant silent_since = Instant::zero();
  };

  Coordinator(CoordinatorOptions options, ParameterServer server);
  Verdict judge(std::uint32_t worker, const wire::Ticket& ticket) const;
  bool may_issue(std::uint32_t worker) const;
  std::optional<Assignment> issue(std::uint32_t worker, const Snapshot& model, Instant now);
  std::optional<Assignment> issue_newest(std::uint32_t worker, Instant now);
  void note_share();

  CoordinatorOptions options_;
  ParameterServer server_;
  std::size_t f_ = 0;
  std::vector<Member> members_;
  double heaviest_share_ = 0.0;
  double heaviest_share_max_ = 0.0;
  std::uint64_t eviction_count_ = 0;
};

}  // namespace ballast::server
