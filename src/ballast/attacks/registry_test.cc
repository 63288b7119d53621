#include "ballast/attacks/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

// What a worker with the honest update (1, -2) sends next to one honest row (4, 8) of count 2.
std::vector<float> sent(std::string_view name, const AttackOptions& options = {}) {
  const auto attack = make_attack(name, options);
  EXPECT_TRUE(attack.has_value()) << name;
  kernels::TestTable honest(1, 2);
  honest[0] = {4.0f, 8.0f};
  const std::vector<std::uint64_t> counts = {2};
  std::vector<float> update = {1.0f, -2.0f};
  (*attack)->change_update({.seed = 1}, update);
  (*attack)->collude({.honest_rows = honest.view(), .honest_counts = counts, .model = {}}, update);
  return update;
}

TEST(AttackRegistry, NamesEachAttackOnceAndSaysWhatItDoes) {
  std::set<std::string_view> names;
  for (const AttackEntry& entry : attack_registry()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_TRUE(make_attack(entry.name).has_value()) << entry.name;
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"none", "label-flip", "sign-flip", "little",
                                               "empire", "gaussian", "zero", "scaled", "mimic"}));
}

TEST(AttackRegistry, BuildsWhatTheNamePromises) {
  EXPECT_THAT(sent("none"), ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(sent("label-flip"), ElementsAre(1.0f, -2.0f)) << "it lies about the labels only";
  EXPECT_THAT(sent("sign-flip"), ElementsAre(-1.0f, 2.0f));
  EXPECT_THAT(sent("little"), ElementsAre(4.0f, 8.0f)) << "one row deviates by nothing";
  EXPECT_THAT(sent("empire"), ElementsAre(FloatEq(-0.4f), FloatEq(-0.8f)));
  EXPECT_THAT(sent("zero"), ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(sent("scaled"), ElementsAre(-10.0f, 20.0f));
  EXPECT_THAT(sent("mimic"), ElementsAre(4.0f, 8.0f));
}

TEST(AttackRegistry, PassesTheOptionsOn) {
  EXPECT_THAT(sent("empire", {.epsilon = 0.5}), ElementsAre(-2.0f, -4.0f));
  EXPECT_THAT(sent("scaled", {.factor = 3.0}), ElementsAre(3.0f, -6.0f));
  EXPECT_THAT(sent("gaussian", {.sigma = 0.0}), ElementsAre(0.0f, 0.0f));
  EXPECT_NE(sent("gaussian"), sent("gaussian", {.sigma = 2.0}));
}

TEST(AttackRegistry, RefusesUnknownNamesWithAHint) {
  const auto misspelt = make_attack("sing-flip");
  ASSERT_FALSE(misspelt.has_value());
  EXPECT_EQ(misspelt.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(misspelt.error().message, HasSubstr("did you mean 'sign-flip'?"));
}

TEST(AttackRegistry, RefusesOptionsOutOfRange) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(make_attack("empire", {.epsilon = bad}).has_value());
    EXPECT_FALSE(make_attack("gaussian", {.sigma = bad}).has_value());
    EXPECT_FALSE(make_attack("scaled", {.factor = bad}).has_value());
  }
  EXPECT_FALSE(make_attack("gaussian", {.sigma = -1.0}).has_value());
}

}  // namespace
}  // namespace ballast::attacks
