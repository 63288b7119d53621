#pragma once
// Attacks on a worker's own update, which need no knowledge of the others. Finite updates stay
// finite: what would overflow becomes the largest float.

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// factor times the honest update. Factor -1 is sign flipping (Allen-Zhu et al. 2020), -10 the
// negative gradient attack of BASGD (Yang and Li 2021). Requires: a finite factor.
AttackPointer make_scaled(double factor);

// Independent normal numbers of mean 0 and deviation sigma in place of the update, drawn anew for
// each (seed, worker, step). Requires: sigma is finite and not negative.
AttackPointer make_gaussian(double sigma);

}  // namespace ballast::attacks
