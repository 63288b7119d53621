#include "ballast/attacks/timing_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ballast/attacks/collusion_attacks.h"
#include "ballast/attacks/data_attacks.h"
#include "ballast/attacks/registry.h"
#include "ballast/attacks/update_attacks.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

TEST(DelayedBurst, LetsSoManyGoAtOnce) {
  const auto attack = make_delayed_burst(make_scaled(-1.0), 3);
  EXPECT_TRUE(attack->colludes() && attack->has_memory() && attack->chooses_time());
  AttackMemory memory;
  const auto holds = [&](std::size_t held_count) {
    return attack->holds({.honest_rows = {},
                          .honest_counts = {},
                          .model = {},
                          .held_count = held_count,
                          .memory = &memory},
                         Floats{1.0f});
  };
  EXPECT_TRUE(holds(1));
  EXPECT_TRUE(holds(2));
  EXPECT_TRUE(holds(2)) << "an honest update came in between";
  // Four have come to wait: three go, the fourth stays.
  EXPECT_FALSE(holds(4));
  EXPECT_FALSE(holds(3));
  EXPECT_FALSE(holds(2));
  EXPECT_TRUE(holds(1));
  EXPECT_TRUE(attack->check_memory(memory, {}));
  memory.numbers = {3.0};
  EXPECT_FALSE(attack->check_memory(memory, {})) << "a burst of three has two left at most";
}

TEST(Ambush, WaitsForItsTarget) {
  const auto attack = make_ambush(make_scaled(-1.0), 2);
  EXPECT_TRUE(attack->chooses_time());
  EXPECT_FALSE(attack->has_memory());
  const auto holds = [&](std::optional<std::uint32_t> last) {
    return attack->holds({.honest_rows = {}, .honest_counts = {}, .model = {}, .last_honest = last},
                         Floats{1.0f});
  };
  EXPECT_TRUE(holds(std::nullopt));
  EXPECT_TRUE(holds(1));
  EXPECT_FALSE(holds(2));
  EXPECT_TRUE(attack->check_honest_count(3));
  EXPECT_FALSE(attack->check_honest_count(2));
}

// The direction is what was sent; so is the harm, with an honest mean of 0.
class Believer final : public ServerPreview {
 public:
  std::span<const float> direction_after(std::span<const float> update) override {
    direction_.assign(update.begin(), update.end());
    return direction_;
  }

 private:
  Floats direction_;
};

// Harms 4, 2, 3, 5, 1, 1, 1: means before them 0, 4, 3, 3, 3.5, 3, ... With factor 1.5 the first is
// worth it (anything is), 5 is more than 1.5 * 3, and the rest waits until its two chances are
// over.
TEST(Opportunist, WaitsForMoreHarmThanUsual) {
  const auto attack = make_opportunist(make_scaled(2.0), {.factor = 1.5, .chances = 2});
  EXPECT_TRUE(attack->needs_preview() && attack->has_memory() && attack->chooses_time());
  AttackMemory memory;
  Believer believer;
  kernels::TestTable honest(1, 1);
  honest[0] = {0.0f};
  const std::vector<std::uint64_t> counts = {1};
  std::vector<bool> held;
  for (const float harm : {4.0f, 2.0f, 3.0f, 5.0f, 1.0f, 1.0f, 1.0f}) {
    held.push_back(attack->holds({.honest_rows = honest.view(),
                                  .honest_counts = counts,
                                  .model = {},
                                  .preview = &believer,
                                  .memory = &memory},
                                 Floats{harm}));
  }
  EXPECT_THAT(held, ElementsAre(false, true, true, false, true, true, false));
  EXPECT_THAT(memory.numbers, ElementsAre(7.0, testing::DoubleNear(17.0 / 7.0, 1e-12), 0.0));
  EXPECT_TRUE(attack->check_memory(memory, {}));
  memory.numbers[2] = 3.0;
  EXPECT_FALSE(attack->check_memory(memory, {}));
}

TEST(Opportunist, StaysFiniteWithTheLargestFloats) {
  const auto attack = make_opportunist(make_scaled(1.0), {.factor = 1000.0, .chances = 5});
  AttackMemory memory;
  Believer believer;
  kernels::TestTable honest(1, 2);
  constexpr float kLargest = std::numeric_limits<float>::max();
  honest[0] = {-kLargest, -kLargest};
  const std::vector<std::uint64_t> counts = {1};
  for (int k = 0; k < 20; ++k) {
    (void)attack->holds({.honest_rows = honest.view(),
                         .honest_counts = counts,
                         .model = {},
                         .preview = &believer,
                         .memory = &memory},
                        Floats{kLargest, kLargest});
    EXPECT_TRUE(std::isfinite(memory.numbers[1]));
  }
}

TEST(TimingAttacks, SendWhatTheAttackInsideSends) {
  kernels::TestTable honest(1, 2);
  honest[0] = {4.0f, 8.0f};
  const std::vector<std::uint64_t> counts = {2};
  const auto sent = [&](AttackPointer inner) {
    const auto attack = make_ambush(std::move(inner), 0);
    Floats update = {1.0f, -2.0f};
    attack->change_update({.seed = 1}, update);
    attack->collude({.honest_rows = honest.view(), .honest_counts = counts, .model = {}}, update);
    return update;
  };
  EXPECT_THAT(sent(make_scaled(3.0)), ElementsAre(3.0f, -6.0f));
  EXPECT_THAT(sent(make_empire(0.5)), ElementsAre(-2.0f, -4.0f));
  EXPECT_THAT(make_ambush(make_label_flip(), 0)->label_map(3).value(), ElementsAre(2, 1, 0));
  EXPECT_FALSE(make_ambush(make_mimic(3), 0)->check_honest_count(2));
}

TEST(TimingAttacks, RefuseToWaitWithWhatRemembersOrChooses) {
  for (const char* text :
       {"ambush(stale-replay)", "delayed-burst(ambush, 3)", "opportunist(delayed-burst)"}) {
    const auto attack = make_attack(text);
    ASSERT_FALSE(attack.has_value()) << text;
    EXPECT_THAT(attack.error().message, HasSubstr("cannot wait"));
  }
  EXPECT_TRUE(make_attack("opportunist(little-search, 2, chances=10)").has_value());
}

}  // namespace
}  // namespace ballast::attacks
