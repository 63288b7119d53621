#pragma once
// Attacks on a worker's own data.

#include "ballast/attacks/attack.h"

namespace ballast::attacks {

// Label y is taken for class_count - 1 - y, that is 9 - y for ten classes; the worker is honest
// otherwise (Allen-Zhu et al. 2020). Needs a source with at least two classes.
AttackPointer make_label_flip();

}  // namespace ballast::attacks
