// Plants bugs and expects claims to fail: what the claims are worth. The claims that catch them are
// those that hold on the library's own parts.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ballast/base/parallel.h"
#include "ballast/verify/mutant_servers.h"
#include "ballast/verify/mutant_workers.h"
#include "ballast/verify/mutants.h"
#include "ballast/verify/registry.h"
#include "ballast/verify/report.h"

namespace ballast::verify {
namespace {

// Whether the claim holds for these parts.
bool holds(const std::string& claim, const Components& components) {
  const Lab lab{.threads = hardware_threads(), .components = components, .has_mutant = true};
  const auto checked = check_claims(find_claims(claim).value(), lab);
  EXPECT_TRUE(checked) << checked.error().message;
  return checked && all_hold(*checked);
}

class MutationTest : public testing::TestWithParam<std::string> {};

TEST_P(MutationTest, IsCaughtByEachOfItsClaims) {
  const Mutant mutant = find_mutant(GetParam()).value();
  const auto verdicts = check_mutants({.threads = hardware_threads()}, {mutant}).value();

  EXPECT_EQ(verdicts.size(), mutant.claims.size());
  for (const MutantVerdict& verdict : verdicts) {
    EXPECT_TRUE(verdict.violated) << verdict.claim;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Mutant& mutant : all_mutants()) names.emplace_back(mutant.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, MutationTest, testing::ValuesIn(names()), [](const auto& named) {
  std::string name = named.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Mutants, EveryClaimCatchesOne) {
  std::vector<MutantVerdict> hoped;
  for (const Mutant& mutant : all_mutants()) {
    for (const std::string_view claim : mutant.claims) {
      hoped.push_back({.claim = std::string(claim), .violated = Check{}});
    }
  }
  EXPECT_EQ(idle_claims(hoped), std::vector<std::string>{});
}

// The detour through the mutant's machinery is not what the claims object to.
TEST(Mutants, EstimatorWithoutASlipPasses) { EXPECT_TRUE(holds("martingale", with_estimator({}))); }

TEST(Mutants, OptimizerWithoutASlipPasses) {
  EXPECT_TRUE(holds("algorithm", with_optimizer({})));
  EXPECT_TRUE(holds("regret", with_optimizer({})));
}

TEST(Mutants, LibraryPasses) {
  EXPECT_TRUE(holds("definitions", Components{}));
  EXPECT_TRUE(holds("attacks", Components{}));
}

TEST(Mutants, UnknownNamesAreRefused) {
  EXPECT_EQ(find_mutant("eta-halfed").error().message,
            "there is no mutant 'eta-halfed'; did you mean 'eta-halved'?");
}

TEST(Mutants, TableShowsSurvivorsAndEscapesBars) {
  const MutantVerdict caught{
      .name = "a", .bug = "b", .claim = "c", .violated = Check{.what = "|x|", .limit = 1.0}};
  const MutantVerdict survivor{.name = "d", .bug = "e", .claim = "f"};
  const std::vector<MutantVerdict> verdicts = {caught, survivor};

  const std::string table = mutant_table(verdicts);

  EXPECT_NE(table.find("| `a` | b | `c` | \\|x\\| | <= 1 | 0 |\n"), std::string::npos) << table;
  EXPECT_NE(table.find("| `d` | e | NOT CAUGHT by `f` |"), std::string::npos) << table;
}

}  // namespace
}  // namespace ballast::verify
