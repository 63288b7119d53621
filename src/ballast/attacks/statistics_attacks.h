#pragma once
// Attacks on the running statistics that a model with batch normalisation sends along: the mean and
// the variance by which it is evaluated.

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// Honest updates, with statistics that are `factor` times the worker's own; a negative factor makes
// variances negative. Refuses a model without statistics. Requires: a finite factor.
AttackPointer make_batch_norm(double factor);

}  // namespace ballast::attacks
