#pragma once
// An enrolled worker that sends nothing right, and knows how the server has to take each message.
//
// Uses HTTP/2 by hand, so it runs in a process without gRPC. Thread-safety: one thread at a time.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ballast/base/rng.h"
#include "ballast/server/update.h"
#include "proto/ballast/v1/parameter_server.pb.h"
#include "tests/network/test_http2.h"

namespace ballast::transport {

// What was sent, by how the server must count it.
struct AttackCounts {
  std::uint64_t sent = 0;
  std::array<std::uint64_t, server::kVerdictCount> verdicts{};  // tallied against the worker
  std::uint64_t joins_refused = 0;
  std::uint64_t streams_refused = 0;
  std::uint64_t dropped = 0;      // by gRPC, or before the join: the stream or connection ends
  std::uint64_t unpunished = 0;   // taken as if it were right, or left hanging: none may be
  std::uint64_t connections = 0;  // that were needed

  void add(const AttackCounts& other);
};

struct AttackerOptions {
  std::uint16_t port = 0;
  std::string worker;
  std::uint64_t schema_hash = 0;
  std::size_t dim = 0;
  std::uint64_t seed = 0;
};

class Attacker {
 public:
  explicit Attacker(const AttackerOptions& options);

  // Sends one malformed message of a kind drawn at random, and sees the server refuse it.
  void attack();

  const AttackCounts& counts() const { return counts_; }

 private:
  using Kind = void (Attacker::*)();
  void send_random_bytes();
  void send_random_bytes_after_joining();
  void send_half_a_message();
  void send_less_than_announced();
  void send_too_much();
  void send_a_bomb();
  void send_a_wrong_join();
  void send_a_forged_ticket();
  void send_an_old_ticket();
  void send_a_wrong_shape();
  void send_a_wrong_checksum();
  void send_what_is_not_finite();
  void speak_out_of_turn();
  void speak_out_of_turn_after_joining();
  void send_bad_metadata();
  void send_bad_http2();

  // Begins a stream, on a new connection if the old one is gone.
  void open(const Http2Connection::Fields& fields);
  void open_as_worker() { open(Http2Connection::call_fields(options_.worker)); }
  v1::WorkerMessage join_message() const;
  // The ticket of the model that came; the row stays what it is.
  std::string join();
  bool read_model();
  // Makes sure that the server holds this connection to its limits.
  void acknowledge();

  bool send(const v1::WorkerMessage& message);
  void send_header(const std::string& ticket);
  // Starts where it says, with a checksum that is right.
  v1::WorkerMessage chunk_message(std::uint64_t offset, std::string bytes) const;
  std::string zeros(std::size_t values) const { return std::string(4 * values, '\0'); }
  std::string random_bytes(std::size_t size);

  // The server has to end the stream now, and to count it here.
  void expect_end(std::uint64_t& count);
  void expect_verdict(server::Verdict verdict);
  std::uint64_t& tally(server::Verdict verdict) {
    return counts_.verdicts[static_cast<std::size_t>(verdict)];
  }

  AttackerOptions options_;
  Rng rng_;
  AttackCounts counts_;
  std::unique_ptr<Http2Connection> connection_;
  std::string ticket_;
};

}  // namespace ballast::transport
