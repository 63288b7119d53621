#include "ballast/simulate/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ballast/methods/registry.h"
#include "ballast/simulate/mutants.h"
#include "ballast/simulate/shrink.h"

namespace ballast::simulate {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kEvents = 2000;
constexpr std::uint64_t kSeedsPerPart = 50;

// In parts, so that they run at the same time.
class FixedSeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FixedSeeds, HoldWhatTheServerPromises) {
  for (std::uint64_t i = 1; i <= kSeedsPerPart; ++i) {
    const std::uint64_t seed = GetParam() * kSeedsPerPart + i;
    const SimulationReport report = simulate({.seed = seed, .events = kEvents});
    ASSERT_FALSE(report.violation.has_value())
        << repeat_command({.seed = seed, .events = kEvents}) << ": " << report.violation->checker
        << ": " << report.violation->message;
    EXPECT_GE(report.events, kEvents);
    EXPECT_GT(report.steps, 0u) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Simulation, FixedSeeds, testing::Values(0, 1, 2, 3));

TEST(Simulation, IsAFunctionOfItsSeed) {
  const SimulationReport first = simulate({.seed = 7, .events = kEvents});
  const SimulationReport again = simulate({.seed = 7, .events = kEvents, .keeps_trace = true});
  EXPECT_EQ(first.hash, again.hash);
  EXPECT_EQ(first.accepted, again.accepted);
  EXPECT_TRUE(first.trace.empty());
  EXPECT_FALSE(again.trace.empty());
  EXPECT_NE(first.hash, simulate({.seed = 8, .events = kEvents}).hash);
}

TEST(Simulation, GoesThroughEverythingThatCanGoWrong) {
  std::uint64_t lives = 0, checkpoints = 0;
  std::vector<std::uint64_t> kinds(kDisturbanceKindCount);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationReport report = simulate({.seed = seed, .events = kEvents});
    lives += report.lives;
    checkpoints += report.checkpoints;
    const auto planned = draw_disturbances(seed, kEvents, report.scenario.workers);
    for (const std::size_t number : report.happened) {
      ++kinds[static_cast<std::size_t>(planned[number].kind)];
    }
  }
  EXPECT_GT(lives, 40u);
  EXPECT_GT(checkpoints, 40u);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_GT(kinds[i], 0u) << name(static_cast<DisturbanceKind>(i));
  }
}

// Half of the seeds have the table, and no method is left out.
TEST(Simulation, DrawsEveryMethod) {
  const IsAllowed any = [](const server::WeightPolicy&, std::size_t) { return Status(); };
  constexpr std::uint64_t kSeeds = 400;
  std::map<std::string, std::uint64_t> drawn;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string method = draw_scenario(seed, any).method;
    ++drawn[method.substr(0, method.find('('))];
  }
  for (const expression::Entry* entry : methods::method_registry().catalogue().entries) {
    EXPECT_GT(drawn[std::string(entry->name)], 0u) << entry->name;
  }
  EXPECT_NEAR(static_cast<double>(drawn[kTable]) / kSeeds, 0.5, 0.1);
}

TEST(Simulation, TakesAMethodInPlaceOfTheDrawnOne) {
  const SimulationReport report = simulate({.seed = 3, .events = 200, .method = "fedbuff(2)"});
  EXPECT_EQ(report.scenario.method, "fedbuff(2)");
  EXPECT_FALSE(report.violation.has_value());
  EXPECT_GT(report.steps, 0u);
  EXPECT_LT(report.steps, report.accepted);
}

TEST(Simulation, ShrinksAFailureToAStoryThatOneCommandRepeats) {
  const auto mutants = defect_mutants();
  const auto mutant = std::ranges::find(mutants, "deaf-to-journal", &DefectMutant::name);
  ASSERT_NE(mutant, mutants.end());
  SimulationOptions options{.events = kEvents};
  options.seed = find_mutant_violation(*mutant, 100, kEvents).seeds;
  const SimulationReport report = simulate(options, mutant->components);
  ASSERT_TRUE(report.violation.has_value());
  const Shrunk shrunk = shrink(options, report, mutant->components);
  ASSERT_TRUE(shrunk.report.violation.has_value());
  EXPECT_EQ(shrunk.report.violation->checker, report.violation->checker);
  EXPECT_LE(shrunk.options.events, options.events);
  EXPECT_LE(shrunk.options.only->size(), report.happened.size());
  EXPECT_EQ(simulate(shrunk.options, mutant->components).hash, shrunk.report.hash);
  const std::string text = story(shrunk, 30);
  EXPECT_THAT(text, HasSubstr("violated: " + report.violation->checker));
  EXPECT_THAT(text, HasSubstr(repeat_command(shrunk.options)));
}

TEST(Simulation, SaysHowToRepeatASeed) {
  EXPECT_EQ(repeat_command({.seed = 5, .events = 70}), "ballast simulate --seed 5 --events 70");
  EXPECT_EQ(repeat_command({.seed = 5, .events = 70, .only = {{3, 9}}}),
            "ballast simulate --seed 5 --events 70 --only 3,9");
  EXPECT_EQ(repeat_command({.seed = 5, .events = 70, .only = std::vector<std::size_t>()}),
            "ballast simulate --seed 5 --events 70 --only none");
  EXPECT_EQ(repeat_command({.seed = 5, .events = 70, .method = "basgd(2, gm)"}),
            "ballast simulate --seed 5 --events 70 --method 'basgd(2, gm)'");
}

}  // namespace
}  // namespace ballast::simulate
