#pragma once
// One worker's live stream, as the exchange sees it.

#include <cstdint>
#include <optional>
#include <string>

#include "ballast/server/parameter_server.h"

namespace ballast::transport {

// What the server has to say to a worker.
struct Delivery {
  std::optional<server::Verdict> verdict = {};  // on its update; none after a join or a hold
  std::uint64_t staleness = 0;                  // of that update
  std::optional<server::Assignment> next = {};  // none: held, a later delivery brings it
};

// Why the exchange ends a stream.
enum class Close : std::uint8_t {
  kReplaced,  // a newer stream of the same worker took its place
  kEvicted,   // silent for too long
  kRevoked,   // its certificate was taken back
  kComeBack,  // held for too long: the worker may ask again later
  kStopping,  // the server ends; it may be started again
  kFinished,  // the training is over
};

// Thread-safety: both functions may be called by any thread at any time after the peer was handed
// over, even when its stream is gone; they must not block and must not call the exchange.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual void deliver(Delivery delivery) = 0;
  virtual void close(Close why) = 0;
  // Under which it came, as PEM; empty without TLS. Constant.
  virtual const std::string& certificate() const noexcept {
    static const std::string none;
    return none;
  }

 private:
  friend class Exchange;
  bool was_displaced_ = false;  // before it ever took part; behind the exchange's mutex
};

}  // namespace ballast::transport
