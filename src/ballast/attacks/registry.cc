#include "ballast/attacks/registry.h"

#include "ballast/attacks/attack_item.h"

namespace ballast::attacks {

// One line per attack; its own file defines kNAMEAttack.
#define BALLAST_ATTACKS(ATTACK) \
  ATTACK(None)                  \
  ATTACK(LabelFlip)             \
  ATTACK(SignFlip)              \
  ATTACK(Little)                \
  ATTACK(Empire)                \
  ATTACK(Gaussian)              \
  ATTACK(Zero)                  \
  ATTACK(Scaled)                \
  ATTACK(Mimic)                 \
  ATTACK(MinMax)                \
  ATTACK(MinSum)                \
  ATTACK(LittleSearch)          \
  ATTACK(EmpireSearch)          \
  ATTACK(FixedVector)           \
  ATTACK(NotFinite)             \
  ATTACK(StaleReplay)           \
  ATTACK(DelayedBurst)          \
  ATTACK(Ambush)                \
  ATTACK(Opportunist)           \
  ATTACK(BatchNorm)             \
  ATTACK(BackDoor)

#define BALLAST_DECLARE_ATTACK(NAME) extern const AttackItem k##NAME##Attack;
#define BALLAST_ATTACK_ADDRESS(NAME) &k##NAME##Attack,

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
