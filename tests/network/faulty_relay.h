#pragma once
// A network that loses things: a relay on loopback between clients and a server without
// certificates, which drops, delays and duplicates messages in both directions.
//
// Messages of one stream never overtake each other, as in HTTP/2: behind a delayed one all wait.
//
// Determinism: the fate of the k-th message of the n-th stream is a function of the seed.
// Thread-safety: every function may be called from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "proto/ballast/v1/parameter_server.pb.h"

namespace ballast::transport {

// How often what happens to a message. At most one thing does, so the sum is at most 1.
struct Faults {
  double drop = 0.0;
  double delay = 0.0;
  double duplicate = 0.0;
  std::chrono::milliseconds delay_max{20};
};

struct RelayOptions {
  std::string server;  // HOST:PORT
  Faults to_server = {};
  Faults to_worker = {};
  std::uint64_t seed = 0;
  // Changes a worker's message on its way, after its fate was drawn.
  std::function<void(v1::WorkerMessage&)> edit = {};
};

struct RelayCounts {
  std::uint64_t streams = 0;
  std::uint64_t messages = 0;  // that came in, from both sides
  std::uint64_t dropped = 0;
  std::uint64_t delayed = 0;
  std::uint64_t duplicated = 0;
};

class FaultyRelay {
 public:
  explicit FaultyRelay(RelayOptions options);

  // Breaks the streams that are left.
  ~FaultyRelay();
  FaultyRelay(const FaultyRelay&) = delete;
  FaultyRelay& operator=(const FaultyRelay&) = delete;

  // HOST:PORT, for clients.
  std::string address() const;
  RelayCounts counts() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace ballast::transport
