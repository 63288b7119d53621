#include "ballast/attacks/registry.h"

#include "ballast/attacks/attack_item.h"

namespace ballast::attacks {

// One line per attack; its own file defines NAME_attack.
#define BALLAST_ATTACKS(ATTACK) \
  ATTACK(none)                  \
  ATTACK(label_flip)            \
  ATTACK(sign_flip)             \
  ATTACK(little)                \
  ATTACK(empire)                \
  ATTACK(gaussian)              \
  ATTACK(zero)                  \
  ATTACK(scaled)                \
  ATTACK(mimic)

#define BALLAST_DECLARE_ATTACK(NAME) extern const AttackItem NAME##_attack;
#define BALLAST_ATTACK_ADDRESS(NAME) &NAME##_attack,

BALLAST_ATTACKS(BALLAST_DECLARE_ATTACK)

namespace {

constexpr const AttackItem* kItems[] = {BALLAST_ATTACKS(BALLAST_ATTACK_ADDRESS)};

}  // namespace

const expression::Registry<AttackPointer>& attack_registry() {
  static const expression::Registry<AttackPointer> registry(
      {.noun = "attack", .plural = "attacks", .example = "sign-flip or empire(0.1)"}, kItems);
  return registry;
}

Result<AttackPointer> make_attack(std::string_view text) { return attack_registry().parse(text); }

}  // namespace ballast::attacks
