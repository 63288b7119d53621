#include "ballast/verify/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ballast/verify/registry.h"

namespace ballast::verify {
namespace {

using testing::HasSubstr;
using testing::Not;

Check slope_check(double high) {
  return {.what = "slope", .measured = {.value = -1.0, .low = -1.25, .high = high}, .limit = -0.5};
}

std::vector<CheckedClaim> two_claims(double high) {
  return {{.claim = {"first", "Theorem 1", "It falls.", nullptr},
           .findings = {.checks = {slope_check(-0.75)}}},
          {.claim = {"second", "Theorem 2", "It falls too.", nullptr},
           .findings = {.checks = {slope_check(-0.75), slope_check(high)}}}};
}

TEST(Check, HoldsOnlyIfItsWholeIntervalDoes) {
  EXPECT_TRUE(slope_check(-0.5).holds());
  EXPECT_FALSE(slope_check(-0.4).holds());
  Check at_least = slope_check(-0.5);
  at_least.relation = Relation::kAtLeast;
  at_least.limit = -1.2;
  EXPECT_FALSE(at_least.holds());
}

TEST(Check, EqualityHoldsOnlyIfItsWholeIntervalIsNearEnough) {
  Check equal = slope_check(-0.75);
  equal.relation = Relation::kEqual;
  equal.limit = -1.0;
  equal.tolerance = 0.25;
  EXPECT_TRUE(equal.holds());
  equal.tolerance = 0.2;
  EXPECT_FALSE(equal.holds());
  equal.measured = Estimate::exactly(-2.0);
  EXPECT_FALSE(equal.holds());
}

TEST(Check, CannotFailIfNothingPossibleWould) {
  Check check = slope_check(-0.75);
  EXPECT_TRUE(check.can_fail());
  check.possible.high = -0.5;
  EXPECT_FALSE(check.can_fail());
  check.relation = Relation::kAtLeast;
  EXPECT_TRUE(check.can_fail());
  check.possible.low = -0.5;
  EXPECT_FALSE(check.can_fail());
  check.relation = Relation::kEqual;
  EXPECT_FALSE(check.can_fail());
  check.possible.low = -1.0;
  EXPECT_TRUE(check.can_fail());
}

TEST(Check, DoesNotHoldForWhatIsNotANumber) {
  EXPECT_FALSE(
      (Check{.measured = Estimate::exactly(std::nan("")), .relation = Relation::kEqual}).holds());
  EXPECT_FALSE(Check{.measured = Estimate::exactly(std::nan(""))}.holds());
}

TEST(Findings, DoNotHoldWithoutAnyCheck) { EXPECT_FALSE(Findings{}.hold()); }

TEST(Report, TextsSayWhatWasPredictedAndMeasured) {
  EXPECT_EQ(predicted_text(slope_check(-0.75)), "<= -0.5");
  EXPECT_EQ(measured_text(slope_check(-0.75)), "-1 [-1.25, -0.75]");
  EXPECT_EQ(measured_text({.measured = Estimate::exactly(0.25)}), "0.25");
  EXPECT_EQ(predicted_text({.relation = Relation::kEqual, .limit = 1.0, .tolerance = 0.1}),
            "1 +- 0.1");
}

TEST(Report, TableShowsTheTightestCheckAndEveryFailure) {
  EXPECT_THAT(claim_table(two_claims(-0.6)), HasSubstr("[-1.25, -0.6]"));
  EXPECT_THAT(claim_table(two_claims(-0.6)), Not(HasSubstr("DOES NOT HOLD")));
  EXPECT_THAT(claim_table(two_claims(-0.1)), HasSubstr("second: slope  <= -0.5"));
}

TEST(Report, JsonHasEveryCheck) {
  const auto json = nlohmann::json::parse(claims_json(two_claims(-0.1), true));

  EXPECT_TRUE(json["quick"]);
  EXPECT_FALSE(json["holds"]);
  EXPECT_TRUE(json["claims"][0]["holds"]);
  ASSERT_EQ(json["claims"][1]["checks"].size(), 2u);
  EXPECT_EQ(json["claims"][1]["checks"][1]["relation"], "at most");
  EXPECT_DOUBLE_EQ(json["claims"][1]["checks"][1]["high"], -0.1);
}

TEST(Registry, RefusesUnknownClaimsAndNamesTheNearest) {
  EXPECT_THAT(find_claims("martingal").error().message, HasSubstr("did you mean 'martingale'?"));
  EXPECT_EQ(find_claims("all")->size(), claim_registry().size());
  EXPECT_EQ(find_claims("flood")->size(), 1u);
}

TEST(CheckClaims, NamesTheClaimThatFailedToRun) {
  const TheoryClaim broken{"broken", "", "",
                           [](const Lab&) -> Result<Findings> { return io_error("no room"); }};

  const auto checked = check_claims(std::span(&broken, 1), {});

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "broken: no room");
}

// A bound above everything that can be measured says nothing, and the report would say "holds".
TEST(CheckClaimsDeathTest, RefusesAClaimThatCannotFail) {
  const TheoryClaim idle{
      "idle", "", "", [](const Lab&) -> Result<Findings> {
        return Findings{.checks = {{.what = "loose", .limit = 2.0, .possible = {.high = 1.0}}}};
      }};

  EXPECT_DEATH((void)check_claims(std::span(&idle, 1), {}), "loose");
}

TEST(CheckClaims, StopsWhenAsked) {
  const std::atomic<bool> stop = true;

  const auto checked = check_claims(find_claims("constants").value(), {.stop = &stop});

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace ballast::verify
