#pragma once
// Attacks that go as far from the honest mean as they can without standing out by their distances
// (Shejwalkar and Houmansadr 2021): mean + gamma * p, where the direction p is against the mean and
// gamma is the largest that a bound on distances to the honest rows allows.

#include <cstdint>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// What p is, with the mean and the deviation by count of the honest rows.
enum class AwayFrom : std::uint8_t {
  kDeviation,  // minus the deviation of each coordinate
  kUnit,       // minus the mean, of length 1
  kSign,       // minus the sign of each coordinate of the mean
};

// min-max: no honest row is farther from the update than the two farthest honest rows from each
// other. The paper searches gamma by halving; here it is the root of a quadratic per row.
AttackPointer make_min_max(AwayFrom away);

// min-sum: the sum of the squared distances from the update to the honest rows, by count, is not
// larger than that from the honest row where it is largest.
AttackPointer make_min_sum(AwayFrom away);

}  // namespace ballast::attacks
