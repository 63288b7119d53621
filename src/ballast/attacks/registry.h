#pragma once
// Every attack by name: the one table that the program, the documents and the bindings print.

#include <string_view>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"
#include "ballast/expression/registry.h"

namespace ballast::attacks {

const expression::Registry<AttackPointer>& attack_registry();

// The attack that the text names, for example "empire(0.1)". Errors point at the character that is
// wrong and name the nearest known attack.
Result<AttackPointer> make_attack(std::string_view text);

}  // namespace ballast::attacks
