// Plants bugs and expects claims to fail: what the claims are worth. The claims that catch them are
// those that hold on the library's own parts.

#include <gtest/gtest.h>

#include <string>

#include "ballast/base/parallel.h"
#include "ballast/verify/registry.h"
#include "ballast/verify/report.h"
#include "ballast/verify/test_mutants.h"

namespace ballast::verify {
namespace {

// Whether the claim holds for these parts.
bool holds(const std::string& claim, const Components& components) {
  const Lab lab{.threads = hardware_threads(), .components = components};
  const auto checked = check_claims(find_claims(claim).value(), lab);
  EXPECT_TRUE(checked) << checked.error().message;
  return checked && all_hold(*checked);
}

TEST(Mutation, BetaOffByOneIsCaught) {
  EXPECT_FALSE(
      holds("martingale", with_estimator({.beta = [](double k) { return 1.0 / (k + 1.0); }})));
}

TEST(Mutation, ConstantBetaIsCaught) {
  EXPECT_FALSE(holds("martingale", with_estimator({.beta = [](double) { return 0.25; }})));
}

// As in the code that was published with the paper.
TEST(Mutation, PreviousPointOffByOneIsCaught) {
  EXPECT_FALSE(holds("noise-free", with_estimator({.is_point_late = true})));
  EXPECT_FALSE(holds("martingale", with_estimator({.is_point_late = true})));
}

TEST(Mutation, FreshSampleForThePreviousGradientIsCaught) {
  EXPECT_FALSE(holds("martingale", with_estimator({.is_sample_fresh = true})));
}

TEST(Mutation, IgnoredTieRuleIsCaught) { EXPECT_FALSE(holds("definitions", with_upper_median())); }

TEST(Mutation, TrimOnTheWrongSideIsCaught) {
  EXPECT_FALSE(holds("constants", with_ctma(TrimSlip::kKeepsTheFarthest)));
  EXPECT_FALSE(holds("definitions", with_ctma(TrimSlip::kKeepsTheFarthest)));
}

TEST(Mutation, ForgottenSplitIsCaught) {
  EXPECT_FALSE(holds("definitions", with_ctma(TrimSlip::kKeepsTheSplitRowWhole)));
}

TEST(Mutation, RulesThatDropWeightsAreCaught) {
  EXPECT_FALSE(holds("definitions", with_rules_that_drop_weights()));
  EXPECT_FALSE(holds("constants", with_rules_that_drop_weights()));
}

TEST(Mutation, ServerThatDropsWeightsIsCaught) {
  EXPECT_FALSE(holds("counter-examples", with_weights(server::UniformWeights{})));
}

TEST(Mutation, ServerWithoutTheCapIsCaught) {
  EXPECT_FALSE(holds("flood", with_weights(server::CountWeights{})));
}

TEST(Mutation, ConstantAlphaIsCaught) { EXPECT_FALSE(holds("noise-free", with_constant_alpha())); }

// The detour through the mutant's machinery is not what the claims object to.
TEST(Mutation, EstimatorWithoutASlipPasses) {
  EXPECT_TRUE(holds("martingale", with_estimator({})));
}

TEST(Mutation, RulesWithoutASlipPass) { EXPECT_TRUE(holds("definitions", Components{})); }

}  // namespace
}  // namespace ballast::verify
