#pragma once
// How an attack's own file tells the registry of it: it defines `kNAMEAttack`, and registry.cc
// lists NAME.

#include "ballast/attacks/attack.h"
#include "ballast/expression/registry.h"

namespace ballast::attacks {

using AttackItem = expression::Item<AttackPointer>;

}  // namespace ballast::attacks
