#pragma once
// Who may send, and whether what was sent is let through: everything that a server decides about a
// sender is decided here, for the simulator and the network alike.
//
// Invariants: (1) a worker has at most one ticket that counts, and each ticket counts once;
// (2) nobody gets further ahead than the lead limit, counted over its lifetime, so f Byzantine
// workers make a bounded part of the accepted updates at any speed and however often they join
// anew; (3) a worker whose update the method has no use for now waits: the start barrier, and the
// pause when too many rows are gone.
//
// No clock, thread or socket: time is an argument.
//
// Thread-safety: none; one thread owns it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/update.h"

namespace ballast::server {

// Worker i gets its next model only while s_i + 1 <= kappa * s_(f+1) + slack, s being the updates
// accepted in a worker's lifetime and s_(f+1) the (f+1)-th largest of them: at most f Byzantine
// workers stand above it, so it never exceeds that of the fastest honest worker. With f = 0 there
// is no limit.
struct LeadLimit {
  std::size_t f = 0;
  double kappa = 2.0;
  double slack = 2.0;
};

struct AdmissionOptions {
  std::uint64_t incarnation = 1;        // rises with every start of the server
  std::vector<std::string> names = {};  // enrolled workers, by number; none: they have numbers only
  std::size_t free_places = 0;          // after the named ones, for workers that are enrolled later
  LeadLimit lead = {};
  bool waits_for_use = false;  // whether workers wait while the method has no use for their updates
  std::optional<std::uint64_t> staleness_max = std::nullopt;
  // A worker that owes us something for longer than this loses its row. 0: never.
  Instant silence_max = Instant::zero();
};

// What updates must look like.
struct UpdateShape {
  std::size_t dim = 0;
  std::size_t statistic_count = 0;
};

// What is known of one sender. Nothing of it is ever taken back.
struct SenderRecord {
  std::uint64_t sequence = 0;           // of the ticket that the last accepted update used
  std::uint64_t issued = 0;             // sequence of the last ticket
  std::uint64_t staleness = 0;          // of the last accepted update
  Instant last_seen = Instant::zero();  // arrival of the last accepted update
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // tallies
  std::optional<wire::Ticket> ticket = std::nullopt;    // the one that counts now

  // Updates accepted in all: what decides who may send.
  std::uint64_t lifetime_count() const noexcept {
    return verdicts[static_cast<std::size_t>(Verdict::kAccepted)];
  }
};

class Admission {
 public:
  // Refuses names that are empty, too long, repeated or, with the free places, not as many as there
  // are workers, and a lead limit that would hold everybody (kappa or slack below 1).
  static Result<Admission> make(AdmissionOptions options, std::size_t worker_count,
                                const UpdateShape& shape);

  const AdmissionOptions& options() const noexcept { return options_; }
  const UpdateShape& shape() const noexcept { return shape_; }
  std::size_t worker_count() const noexcept { return senders_.size(); }

  // The number of an enrolled name.
  std::optional<std::uint32_t> find(std::string_view name) const;

  // Whether enrol() would take the name.
  Status may_enrol(const std::string& name) const;

  // Gives the next free place to a worker, for good; its number. Refuses a name as make() does, and
  // one more than there are places.
  Result<std::uint32_t> enrol(std::string name);

  // Whether the update is let through, or the first reason why not. Changes nothing.
  // Cost: a read of the values.
  Verdict judge(const Update& update, std::uint64_t newest_version) const;

  // The functions below require worker < worker_count.

  // Tallies a verdict.
  void note(std::uint32_t worker, Verdict verdict);
  // After an update was accepted, beside note().
  void note_accepted(const Update& update, std::uint64_t staleness, Instant now);

  // A ticket for the model of that version; none if the worker has to wait. Whatever ticket it had
  // before is void.
  std::optional<wire::Ticket> issue(std::uint32_t worker, std::uint64_t version, bool is_of_use,
                                    Instant now);

  // The worker is handed the ticket it was issued, and is waited for from now on: what the server
  // did in between, such as to save its state, is not the worker's silence.
  void note_given(std::uint32_t worker, Instant now) { members_[worker].silent_since = now; }

  // The worker neither has a ticket nor waits for one.
  void withdraw(std::uint32_t worker, Instant now);

  // Owes us an update, or has sent some, and was not heard of for too long.
  bool is_silent(std::uint32_t worker, bool has_sent, Instant now) const;

  bool is_held(std::uint32_t worker) const { return members_[worker].is_held; }
  const SenderRecord& sender(std::uint32_t worker) const { return senders_[worker]; }
  std::span<const SenderRecord> senders() const noexcept { return senders_; }

  // A new life of the server begins: tickets of earlier ones do not count any more.
  void begin_incarnation(std::uint64_t number);

  // Takes over the records of a checkpoint. Tickets of other incarnations do not count any more.
  // Records that contradict themselves are an error and change nothing.
  Status restore(std::span<const SenderRecord> senders, std::uint64_t newest_version);

 private:
  struct Member {
    bool is_held = false;  // waits for a ticket
    Instant silent_since = Instant::zero();
  };

  Admission(AdmissionOptions options, std::size_t worker_count, const UpdateShape& shape);
  bool may_send(std::uint32_t worker, bool is_of_use) const;
  double lead_limit() const;

  AdmissionOptions options_;
  UpdateShape shape_;
  std::vector<SenderRecord> senders_;
  std::vector<Member> members_;

  // The lead limit follows from lifetime counts and is computed anew when one has changed.
  mutable std::vector<std::uint64_t> counts_;
  mutable std::optional<double> lead_limit_;
};

}  // namespace ballast::server
