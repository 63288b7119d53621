#include "ballast/attacks/replay_attacks.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace ballast::attacks {
namespace {

using Floats = std::vector<float>;

float sent(const AttackPointer& attack, AttackMemory& memory, float own, std::size_t sender = 0) {
  Floats update = {own};
  attack->collude(
      {.honest_rows = {}, .honest_counts = {}, .model = {}, .sender = sender, .memory = &memory},
      update);
  return update[0];
}

TEST(StaleReplay, SendsItsOwnUpdateOfSoManyUpdatesAgo) {
  const auto attack = make_stale_replay(2, ReplayOf::kOwn);
  EXPECT_TRUE(attack->colludes() && attack->has_memory());
  AttackMemory memory;
  // The oldest while there are not so many; each sender has its own.
  EXPECT_EQ(sent(attack, memory, 1.0f, 0), 1.0f);
  EXPECT_EQ(sent(attack, memory, 2.0f, 0), 1.0f);
  EXPECT_EQ(sent(attack, memory, 9.0f, 2), 9.0f);
  EXPECT_EQ(sent(attack, memory, 3.0f, 0), 1.0f);
  EXPECT_EQ(sent(attack, memory, 4.0f, 0), 2.0f);
  EXPECT_EQ(sent(attack, memory, 5.0f, 0), 3.0f);
  EXPECT_EQ(sent(attack, memory, 8.0f, 2), 9.0f);
}

TEST(StaleReplay, SendsTheHonestUpdateOfSoManyUpdatesAgo) {
  const auto attack = make_stale_replay(3, ReplayOf::kHonest);
  AttackMemory memory;
  EXPECT_EQ(sent(attack, memory, 7.0f), 7.0f) << "there is nothing yet";
  std::deque<float> twin;
  for (int k = 1; k <= 20; ++k) {
    const Floats update = {static_cast<float>(k)};
    attack->watch(update, memory);
    twin.push_back(update[0]);
    if (twin.size() > 4) twin.pop_front();
    EXPECT_EQ(sent(attack, memory, 7.0f, 1), twin.front()) << k;
  }
  EXPECT_EQ(memory.vectors.size(), 4u);
}

TEST(StaleReplay, RefusesAMemoryThatItCannotHave) {
  const auto attack = make_stale_replay(1, ReplayOf::kHonest);
  const MemoryShape shape{.dim = 1, .byzantine_workers = 3};
  AttackMemory memory;
  EXPECT_TRUE(attack->check_memory(memory, shape));
  for (int k = 0; k < 5; ++k) {
    attack->watch(Floats{1.0f}, memory);
    EXPECT_TRUE(attack->check_memory(memory, shape)) << k;
  }
  EXPECT_FALSE(attack->check_memory(memory, {.dim = 2, .byzantine_workers = 3}));
  AttackMemory broken = memory;
  broken.numbers = {0.5};
  EXPECT_FALSE(attack->check_memory(broken, shape));
  broken = memory;
  broken.numbers = {1.0};
  EXPECT_FALSE(attack->check_memory(broken, shape)) << "two are there";
  broken = memory;
  broken.vectors.pop_back();
  EXPECT_FALSE(attack->check_memory(broken, shape));
  broken = memory;
  broken.numbers.push_back(0.0);
  EXPECT_FALSE(attack->check_memory(broken, shape)) << "there is one ring";

  const auto own = make_stale_replay(1, ReplayOf::kOwn);
  AttackMemory two;
  sent(own, two, 1.0f, 2);
  EXPECT_TRUE(own->check_memory(two, shape));
  EXPECT_FALSE(own->check_memory(two, {.dim = 1, .byzantine_workers = 2}));
}

}  // namespace
}  // namespace ballast::attacks
