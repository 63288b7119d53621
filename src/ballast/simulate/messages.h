#pragma once
// Private to simulate/: what travels over the simulated network.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ballast/server/parameter_server.h"
#include "ballast/transport/peer.h"
#include "ballast/wire/ticket.h"

namespace ballast::simulate {

// A connection of a worker with one life of the server.
struct SimulatedStream {
  std::uint32_t worker = 0;
  std::uint64_t life = 0;
  std::shared_ptr<transport::Peer> peer;
  bool is_broken = false;                    // nothing gets through any more
  bool has_ended = false;                    // and the server knows
  server::Instant to_server{}, to_worker{};  // arrival of the last message, to keep them in order
};
using StreamPointer = std::shared_ptr<SimulatedStream>;

// What is wrong with an update, on the wire.
enum class UpdateFault : std::uint8_t { kNone, kTooLong, kChecksum, kHalf };

struct UpdateMessage {
  wire::TicketBytes ticket{};
  std::vector<float> values = {}, statistics = {};
  UpdateFault fault = UpdateFault::kNone;
};

// What a worker is told. Nothing of it is shared with the server.
struct ModelMessage {
  std::optional<server::Verdict> verdict = {};
  std::optional<wire::TicketBytes> ticket = {};  // none: held
  std::uint64_t sequence = 0;
  std::vector<float> model = {};
};

}  // namespace ballast::simulate
