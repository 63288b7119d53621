#pragma once
// A ticket: the server's permission to send one update, computed on one version of the model.
//
// A worker carries it back unread. The message authentication code in it covers the run as well, so
// a ticket of another run, another worker, another version or another start of the server is as
// good as none.
//
// Thread-safety: pure functions; sealing and opening call the Mac they are given.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::wire {

struct Ticket {
  std::uint64_t incarnation = 0;  // which start of the server issued it
  std::uint32_t worker = 0;
  std::uint64_t version = 0;   // of the model that came with it
  std::uint64_t sequence = 0;  // counts the tickets of this worker; none is issued twice

  bool operator==(const Ticket&) const = default;
};

inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kTicketBytes = 8 + 4 + 8 + 8 + kMacBytes;

using MacBytes = std::array<std::byte, kMacBytes>;
using TicketBytes = std::array<std::byte, kTicketBytes>;

// HMAC-SHA256 under a key that only the server knows.
using Mac = std::function<MacBytes(std::span<const std::byte>)>;

TicketBytes seal_ticket(const Ticket& ticket, std::string_view run, const Mac& mac);

// The ticket, if this server sealed it in this run. Takes the same time for every wrong code.
Result<Ticket> open_ticket(std::span<const std::byte> bytes, std::string_view run, const Mac& mac);

}  // namespace ballast::wire
