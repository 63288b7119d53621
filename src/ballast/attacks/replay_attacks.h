#pragma once
// Attacks that send again what was sent before.

#include <cstddef>
#include <cstdint>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// Whose updates are sent again.
enum class ReplayOf : std::uint8_t {
  kOwn,     // what the same Byzantine worker would have sent as an honest one
  kHonest,  // what the server accepted of the honest workers, in the order of its arrival
};

// Sends the update from `delay` updates ago, the oldest one while there are not so many yet, and
// its own while there is none. It comes under a fresh ticket, so that only its content is stale.
//
// Memory: delay + 1 updates, of each Byzantine worker where they are its own.
// Requires: delay >= 1.
AttackPointer make_stale_replay(std::size_t delay, ReplayOf of);

}  // namespace ballast::attacks
