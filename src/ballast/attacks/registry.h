#pragma once
// Every attack by name: the one table that the program, the documents and the bindings print.

#include <cstddef>
#include <span>
#include <string_view>

#include "ballast/attacks/attack.h"
#include "ballast/base/error.h"

namespace ballast::attacks {

// The parameters of all attacks; each attack reads its own. The defaults are those of the paper, or
// of the works cited in the attack's header.
struct AttackOptions {
  double epsilon = 0.1;    // empire
  double sigma = 1.0;      // gaussian
  double factor = -10.0;   // scaled
  std::size_t target = 0;  // mimic: which of the honest rows
};

struct AttackEntry {
  std::string_view name;
  std::string_view summary;
  // Requires: options in range, see make_attack.
  AttackPointer (*make)(const AttackOptions& options);
};

// In the order in which they are to be listed.
std::span<const AttackEntry> attack_registry() noexcept;

// Refuses unknown names, numbers that are not finite, and a negative sigma.
Result<AttackPointer> make_attack(std::string_view name, const AttackOptions& options = {});

}  // namespace ballast::attacks
