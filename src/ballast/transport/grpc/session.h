#pragma once
// One stream of one worker, on the server: the turns of the protocol as a state machine.
//
//   joining --Join--> waiting --(assignment)--> sending --> computing --UpdateHeader--> receiving
//                        ^                                     |                            |
//                        +----------- last chunk --------------|----------------------------+
//                                                              +--Leave--> ended
//
// The two sides take turns. A read is always under way nevertheless, so that a worker may leave
// while it waits; whatever else comes out of turn ends the stream.
//
// Thread-safety: gRPC calls the On... functions, the exchange deliver() and close(), the server
// end_if...(), each from threads of their own.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "ballast/transport/connection_guard.h"
#include "ballast/transport/exchange.h"
#include "ballast/transport/grpc/certificate_check.h"
#include "ballast/transport/grpc/frame.h"
#include "ballast/transport/grpc/handoff.h"
#include "ballast/transport/grpc/messages.h"
#include "ballast/transport/model_loans.h"
#include "ballast/transport/server.h"
#include "ballast/wire/ticket.h"

namespace ballast::transport {

class Session;

// What the streams of a server share. Outlives them.
struct SessionEnvironment {
  NetworkServerOptions options;
  wire::Mac mac;
  Exchange* exchange = nullptr;
  ConnectionGuard* guard = nullptr;
  ModelLoans* loans = nullptr;
  CertificateCheck* certificates = nullptr;
  Notices* notices = nullptr;
  std::function<void(const std::shared_ptr<Session>&, server::Memory)> on_join;
  std::function<void(const Session&)> on_revoked;
  std::function<void(Session*)> on_done;  // the stream is over; the last thing it does
  std::atomic<std::uint64_t> streams_opened = 0;
  std::atomic<std::uint64_t> streams_refused = 0;
  std::atomic<std::uint64_t> streams_stalled = 0;
  std::atomic<std::uint64_t> streams_surplus = 0;
  std::atomic<std::uint64_t> joins_refused = 0;
  std::atomic<std::uint64_t> calls_refused = 0;
  std::atomic<std::uint64_t> streams_denied = 0;
  std::atomic<std::uint64_t> workers_revoked = 0;
};

// Whose stream it is.
struct StreamIdentity {
  std::uint32_t worker = 0;
  std::string name;
  std::string certificate;  // empty without TLS
};

using SteadyClock = std::chrono::steady_clock;

class Session final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                      public Peer,
                      public std::enable_shared_from_this<Session> {
 public:
  Session(SessionEnvironment& shared, grpc::CallbackServerContext& context,
          std::shared_ptr<ConnectionGuard::Connection> connection, StreamIdentity identity);

  // Reads the first message. Requires: a shared_ptr owns this.
  void start();

  std::uint32_t worker() const noexcept { return identity_.worker; }

  // Ends the stream if it stalls, also in its last words.
  void end_if_stalled(SteadyClock::time_point now);

  // The server itself has missed so much time, which nobody is to be blamed for.
  void forgive(SteadyClock::duration time);

  // Ends the stream because its worker has too many.
  void end_as_surplus();

  // Ends the stream because its certificate is no longer good.
  void end_denied(const Denied& denied);

  const std::string& certificate() const noexcept override { return identity_.certificate; }

  void deliver(Delivery delivery) override;
  void close(Close why) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Phase : std::uint8_t { kJoining, kWaiting, kSending, kComputing, kReceiving };

  // What is still to be written, in this order.
  struct Outbox {
    std::optional<v1::Verdict> verdict;
    std::optional<server::Assignment> assignment;  // its model is on loan already
    wire::PayloadWriter chunks;
    std::shared_ptr<ModelLoans::Loan> model;  // what the chunks are cut from, until all are sent
    std::weak_ptr<ModelLoans::Loan> lent;     // the same, for as long as gRPC has any of it
    bool has_model = false;                   // has begun to be sent, since the last delivery
    bool has_come_back = false;
    bool is_come_back_sent = false;
  };

  // Each handles one message; an error ends the stream, with OK after a good-bye.
  using Handled = tl::expected<void, grpc::Status>;
  Handled handle();
  Handled on_join(const v1::Join& join);
  Handled on_update_header(const v1::UpdateHeader& header);
  Handled on_chunk(const wire::Chunk& chunk);
  grpc::Status check(const v1::Join& join) const;

  void read_next();
  Phase turn();
  void enter(Phase phase);
  bool is_stalled(SteadyClock::time_point now) const;

  // Require: mutex_ is held.
  void enter_locked(Phase phase);
  void write_next();
  bool fill_outgoing();
  void fill_chunk();
  v1::ModelHeader header_of(const server::Assignment& assignment) const;
  void finish(grpc::Status status);
  void finish_now(grpc::Status status);

  SessionEnvironment& shared_;
  grpc::CallbackServerContext& context_;
  const StreamIdentity identity_;
  const std::shared_ptr<ConnectionGuard::Connection> connection_;

  Handoff begun_;  // from start() to each reaction
  Handoff over_;   // from each reaction to OnDone()

  // Touched in turns: by start(), each OnReadDone() and, at last, OnDone().
  Handoff read_;
  grpc::ByteBuffer incoming_;
  ReceivedMessage<v1::WorkerMessage> received_;
  wire::Ticket ticket_;
  wire::Encoding encoding_ = wire::Encoding::kFloat32;  // of the update
  bool has_joined_ = false;
  bool has_left_ = false;

  std::mutex mutex_;
  // Behind mutex_.
  grpc::ByteBuffer outgoing_;  // not touched while it is being written
  Outbox outbox_;
  wire::Encoding model_encoding_ = wire::Encoding::kFloat32;
  std::size_t outgoing_chunk_bytes_ = 0;  // of values in it
  bool is_writing_ = false;
  // gRPC sends the stream's initial metadata with the first message, is done with that only when
  // both have left, and would let them wait for a follower that we write only then.
  bool has_written_ = false;
  std::optional<grpc::Status> end_;                      // set once; nothing is started after that
  std::optional<SteadyClock::time_point> ending_since_;  // the last words are being said
  bool is_over_ = false;                                 // gRPC has told that all is done
  Phase phase_ = Phase::kJoining;
  SteadyClock::time_point phase_since_;
  std::uint64_t phase_bytes_ = 0;
};

}  // namespace ballast::transport
