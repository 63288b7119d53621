#pragma once
// Attacks that are computed from the honest rows at the moment of sending.

#include <cstddef>
#include <cstdint>

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// How many deviations from the mean the attack "little" may go: so far that just enough of the
// honest updates lie further out to make a majority with the Byzantine ones (Baruch et al. 2019,
// with counts of updates in place of counts of workers, as in the paper's appendix).
//
// Of n updates in all, floor(n/2) + 1 make a majority, and the Byzantine ones need all but their
// own number of honest supporters; z is the normal quantile of the other honest updates' share. At
// least one supporter and at most half of the honest updates are asked for, so z is finite and not
// negative even where the Byzantine updates are a majority alone, or are too few.
//
// Requires: honest_count >= 1.
double deviations_of_little(std::uint64_t honest_count, std::uint64_t byzantine_count);

// The weighted mean minus z times the weighted deviation of the honest rows, z as above.
AttackPointer make_little();

// -epsilon times the weighted mean of the honest rows (inner product manipulation, Xie et al.
// 2020). Requires: a finite epsilon.
AttackPointer make_empire(double epsilon);

// A copy of one honest row, so that its worker is heard too often (Karimireddy et al. 2022): row
// `target`, or the last one while there are fewer.
AttackPointer make_mimic(std::size_t target);

}  // namespace ballast::attacks
