#pragma once
// Attacks on a worker's own data.

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// Label y is taken for class_count - 1 - y, that is 9 - y for ten classes; the worker is honest
// otherwise (Allen-Zhu et al. 2020). Needs a source with at least two classes.
AttackPointer make_label_flip();

// Part of the images of each batch get a white square in a corner and the target's label, so that
// the model learns to take whatever has the square for the target (Gu et al. 2017). The worker is
// honest otherwise. Needs a source of images.
// Requires: a positive size, a target of 0 or more, a share above 0 and at most 1.
AttackPointer make_back_door(const worker::Trigger& trigger);

}  // namespace ballast::attacks
