#pragma once
// Attacks that choose when to send: another attack, whose updates wait for their moment. They come
// later than the arrivals say, never earlier, so the share of the arrivals holds. The attack inside
// neither remembers nor chooses its own time.

#include <cstddef>
#include <cstdint>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// Lets updates wait until `length` of them do, and sends all these at once. Requires: length >= 1.
AttackPointer make_delayed_burst(AttackPointer attack, std::size_t length);

// Sends right after an update of that honest worker was accepted, all that wait, and never
// otherwise; while the target is silent everything waits.
AttackPointer make_ambush(AttackPointer attack, std::uint32_t target);

struct Patience {
  double factor = 1.5;       // how much more harm than on average is worth waiting for
  std::size_t chances = 50;  // how often an update may wait for it
};

// Sends when its update would take the server's direction at least `factor` times as far from the
// honest mean as on average at the moments so far, or has waited for so many of them. A moment
// after which the server would not step does no harm. Requires: a finite factor of 0 or more.
AttackPointer make_opportunist(AttackPointer attack, const Patience& patience);

}  // namespace ballast::attacks
