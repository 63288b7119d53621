#pragma once
// Where the many threads of a transport meet the one thread that owns the server's state.
//
// The state thread alone touches the server. Transport threads leave mail: each worker has one
// mailbox and stands at most once in the queue, so the queue is bounded by the number of workers
// whatever they do. Models go out as shared snapshots, which the state thread never waits for.
//
// Each worker has one receive slot of its own, there from the start; its live row is the second
// one, inside the server. Only the worker's newest stream may write to the slot, and nobody while
// the state thread reads it.
//
// A simulation has no threads: there it is a caller that lends its own, now and then, to work().
//
// Thread-safety: every function may be called from any thread.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/parameter_server.h"
#include "ballast/transport/patient_clock.h"
#include "ballast/transport/peer.h"
#include "ballast/wire/payload.h"

namespace ballast::transport {

// One update and what became of it. Borrowed for the duration of the call.
struct JudgedUpdate {
  std::uint32_t worker = 0;
  wire::Ticket ticket;
  const server::Outcome& outcome;
  std::span<const float> values;
  std::span<const float> statistics;
};

// What happened to a worker's membership.
enum class MemberEvent : std::uint8_t {
  kJoined,
  kStartedAnew,  // after kJoined: it remembers nothing, so the row it had is gone
  kReplaced,
  kHeld,
  kReleased,
  kGone,
  kLeft,
  kEvicted,
  kRevoked
};

// Called on the state thread, so they may read the server and delay everything else.
struct ExchangeHooks {
  // After an update was judged and before its worker is told: the place for a journal. A reason
  // means that the worker must not be told, because it could not be noted. From then on streams
  // end, none begins, and no update reaches the state: a worker that came back would learn from it
  // what was not noted.
  std::function<std::optional<Close>(const server::ParameterServer&, const JudgedUpdate&)> judged =
      {};
  // Refusals that the transport decided, before there was an update to judge.
  std::function<void(std::uint32_t worker, server::Verdict verdict, std::uint32_t count)> refused =
      {};
  std::function<void(std::uint32_t worker, MemberEvent event)> member = {};
  // After kJoined: the certificate under which the worker came, as PEM; empty without TLS.
  std::function<void(std::uint32_t worker, const std::string& certificate)> certificate = {};
  // Regularly: the place for checkpoints by time and for publishing figures.
  std::function<void(const server::ParameterServer&)> tick = {};
};

struct ExchangeOptions {
  std::chrono::milliseconds hold_max{60'000};  // then a held worker is told to come back
  std::chrono::milliseconds tick{50};          // how often evictions and holds are looked at
  std::chrono::milliseconds stride{0};         // of the patient clock; 0: four ticks
  ExchangeHooks hooks = {};
  bool has_thread = true;  // false: the state thread is whoever calls work()
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

class Exchange {
 public:
  Exchange(server::ParameterServer server, ExchangeOptions options);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // The number of an enrolled name.
  std::optional<std::uint32_t> find(std::string_view name) const;

  // Gives a free place to a worker, which may join from then on; its number. `keep` is called
  // before on the state thread, to note it where it is not forgotten, and if it fails nothing has
  // changed. Refuses what Admission::enrol() refuses, and everything after the end.
  Result<std::uint32_t> enrol(const std::string& name,
                              const std::function<Status(const server::ParameterServer&)>& keep);

  std::size_t dim() const noexcept { return dim_; }
  std::size_t statistic_count() const noexcept { return statistic_count_; }
  std::uint64_t incarnation() const noexcept { return server_.admission().incarnation; }

  // A stream of an enrolled worker wants to take part. An older one of the same worker is closed.
  void join(std::uint32_t worker, std::shared_ptr<Peer> peer, server::Memory memory);

  // The peer begins to send an update. kNotFound if it is not the worker's newest stream.
  Status begin_update(std::uint32_t worker, const Peer& peer, wire::Encoding encoding);

  // Takes the next chunk. True: the update is complete and was handed to the state thread, which
  // will deliver the verdict, maybe before this returns. kInvalidArgument if the chunk is wrong,
  // kNotFound if the peer was replaced.
  Result<bool> take_chunk(std::uint32_t worker, const std::shared_ptr<Peer>& peer,
                          const wire::Ticket& ticket, const wire::Chunk& chunk);

  // Counts a refusal that the transport decided.
  void refuse(std::uint32_t worker, server::Verdict verdict);

  // The stream has ended; with `has_left` the worker said good-bye before.
  void end(std::uint32_t worker, std::shared_ptr<Peer> peer, bool has_left);

  // The worker's certificate was revoked: its stream is closed, its row leaves, and an update of it
  // that waits is refused. A join that comes after this, under a new certificate, is a new life.
  void revoke(std::uint32_t worker);

  // Does all that waits to be done, and looks at evictions and holds if that is due.
  // Requires: no thread of its own; one caller at a time, also of stop().
  void work();

  // Runs the function on the state thread, after what was left there before, and waits for it.
  // Nothing happens after stop(). Without a thread it is run at once.
  void inspect(const std::function<void(const server::ParameterServer&)>& look);

  // Closes all peers for the reason given and ends the thread. Further calls do nothing.
  void stop(Close why = Close::kStopping);

 private:
  struct Slot {
    std::mutex mutex;
    const Peer* owner = nullptr;
    bool is_busy = false;    // complete and not yet judged
    bool is_finite = false;  // what has come of the values
    RowBuffer values;
    std::vector<float> statistics;
    wire::PayloadReader reader;
  };
  struct Ended {
    std::shared_ptr<Peer> peer;
    bool has_left = false;
  };
  struct Mailbox {
    std::shared_ptr<Peer> submitted;
    wire::Ticket ticket;
    std::vector<Ended> ended;  // of streams that took part: one, and one that is just beginning
    std::shared_ptr<Peer> joining;
    server::Memory memory = server::Memory::kFresh;
    bool is_revoked = false;  // before `joining`
    std::array<std::uint32_t, server::kVerdictCount> refusals{};
    bool is_queued = false;
  };
  // What the state thread alone knows of a worker.
  struct Member {
    std::shared_ptr<Peer> peer;
    server::Instant held_since{};
  };

  // The worker's mailbox, and the worker in the queue. Requires: mutex_ is held.
  Mailbox& open_mailbox(std::uint32_t worker);
  void run();
  void work(std::unique_lock<std::mutex>& lock);
  void finish(std::unique_lock<std::mutex>& lock);
  void run_on_state_thread(const std::function<void()>& what);
  bool handle_one(std::unique_lock<std::mutex>& lock);
  void handle_mail(std::uint32_t worker);
  void note_refusals(std::uint32_t worker, server::Verdict verdict, std::uint32_t count);
  void handle_update(std::uint32_t worker, const Mailbox& mail);
  void fall_silent(Close why);
  void handle_end(std::uint32_t worker, const Ended& ended);
  void handle_revocation(std::uint32_t worker);
  void handle_join(std::uint32_t worker, Mailbox mail);
  void tick();
  void release_held();
  void come_back_later();
  void give(std::uint32_t worker, Delivery delivery);
  void close_peer(std::uint32_t worker, Close why);
  void set_owner(std::uint32_t worker, const Peer* peer);
  void note(std::uint32_t worker, MemberEvent event) const;
  Result<std::uint32_t> enrol_now(
      const std::string& name, const std::function<Status(const server::ParameterServer&)>& keep);
  server::Instant now();

  // Constant after construction.
  ExchangeOptions options_;
  std::size_t dim_;
  std::size_t statistic_count_;
  std::chrono::steady_clock::time_point start_;

  // The state thread's own.
  PatientClock clock_;
  std::chrono::steady_clock::time_point next_tick_;
  server::ParameterServer server_;  // its incarnation is constant and read by all
  std::vector<Member> members_;
  std::optional<Close> silenced_;  // why nobody is told anything any more

  std::vector<Slot> slots_;  // each behind its own mutex

  mutable std::mutex names_mutex_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of the enrolled; behind it

  // Behind mutex_.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Mailbox> mail_;
  std::deque<std::function<void()>> queue_;
  bool is_stopping_ = false;
  Close farewell_ = Close::kStopping;

  std::mutex stop_mutex_;  // held by whoever ends the thread; others wait until it has ended
  std::thread thread_;
};

}  // namespace ballast::transport
