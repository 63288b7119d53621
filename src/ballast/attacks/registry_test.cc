#include "ballast/attacks/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
std::vector<float> sent(std::string_view text) {
  const auto attack = make_attack(text);
  EXPECT_TRUE(attack.has_value()) << text;
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
  for (const expression::Entry* entry : attack_registry().catalogue().entries) {
    EXPECT_TRUE(names.insert(entry->name).second) << entry->name;
    EXPECT_FALSE(entry->help.empty()) << entry->name;
    EXPECT_TRUE(make_attack(entry->name).has_value()) << entry->name;
  }
  EXPECT_EQ(names,
            (std::set<std::string_view>{
                "none",         "label-flip",    "sign-flip",     "little",       "empire",
                "gaussian",     "zero",          "scaled",        "mimic",        "min-max",
                "min-sum",      "little-search", "empire-search", "fixed-vector", "not-finite",
                "stale-replay", "delayed-burst", "ambush",        "opportunist",  "batch-norm",
                "back-door"}));
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

TEST(AttackRegistry, PassesTheArgumentsOn) {
  EXPECT_THAT(sent("empire(0.5)"), ElementsAre(-2.0f, -4.0f));
  EXPECT_THAT(sent("empire(epsilon=1/2)"), ElementsAre(-2.0f, -4.0f));
  EXPECT_THAT(sent("scaled(3)"), ElementsAre(3.0f, -6.0f));
  EXPECT_THAT(sent("gaussian(0)"), ElementsAre(0.0f, 0.0f));
  EXPECT_NE(sent("gaussian"), sent("gaussian(sigma=2)"));
}

TEST(AttackRegistry, RefusesUnknownNamesWithAHint) {
  const auto misspelt = make_attack("sing-flip");
  ASSERT_FALSE(misspelt.has_value());
  EXPECT_EQ(misspelt.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(misspelt.error().message, HasSubstr("did you mean 'sign-flip'?"));
}

TEST(AttackRegistry, PointsAtArgumentsOutOfRange) {
  const auto complaint = [](std::string_view text) {
    const auto attack = make_attack(text);
    return attack ? "accepted" : attack.error().message;
  };
  EXPECT_EQ(complaint("gaussian(-1)"),
            "sigma must be at least 0, not -1 at column 10\n  gaussian(-1)\n           ^");
  EXPECT_THAT(complaint("mimic(1.5)"), HasSubstr("target must be a whole number from 0, not 1.5"));
  EXPECT_THAT(complaint("empire(sigma=1)"), HasSubstr("does not take an argument 'sigma'"));
  EXPECT_THAT(complaint("empire(1e999)"), HasSubstr("too large"));
  EXPECT_THAT(complaint("zero & zero"), HasSubstr("cannot be joined"));
}

TEST(AttackRegistry, KnowsHowManyHonestWorkersAnAttackNeeds) {
  EXPECT_TRUE(make_attack("mimic(3)").value()->check_honest_count(4));
  EXPECT_THAT(make_attack("mimic(4)").value()->check_honest_count(4).error().message,
              HasSubstr("must be below 4, the number of honest workers, not 4"));
  EXPECT_TRUE(make_attack("little").value()->check_honest_count(1));
}

}  // namespace
}  // namespace ballast::attacks
