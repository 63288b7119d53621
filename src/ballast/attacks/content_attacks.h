#pragma once
// Attacks by what an update holds, whatever the worker's data and the other workers are: the
// content of floods, and values that no server may let in.

#include <cstdint>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// The same vector from every Byzantine worker at every update: of this length, in a direction that
// the seed of the run draws. Requires: a finite length of 0 or more.
AttackPointer make_fixed_vector(double length);

enum class NotFinite : std::uint8_t { kNan, kInfinity, kMinusInfinity };

// The honest update with one value, drawn anew each time, that is not finite. The only attack whose
// output is not finite: admission refuses it, and the worker goes on from the newest model.
AttackPointer make_not_finite(NotFinite value);

}  // namespace ballast::attacks
