#include "ballast/arena/contest_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ballast/arena/step_search.h"
#include "ballast/arena/test_contest.h"
#include "ballast/data/temporary_folder.h"

namespace ballast::arena {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto contest = parse_contest(text, "c.toml");
  return contest ? "fine" : contest.error().message;
}

std::string error_of(const std::string& from, const std::string& to) {
  return error_of(std::string(kTinyContest), from, to);
}

TEST(ContestSpec, ReadsItsOwnTableBesideTheSpecification) {
  const ContestSpec contest = tiny_contest("/folder");

  EXPECT_EQ(contest.title, "Tiny");
  EXPECT_EQ(contest.recommended, "table");
  EXPECT_THAT(contest.search.etas, ElementsAre(0.1, 0.5));
  EXPECT_THAT(contest.search.seeds, ElementsAre(9u));
  EXPECT_EQ(contest.spec.curves.at(0).needs, "share");
  EXPECT_THAT(contest.spec.curves.at(2).not_in, ElementsAre("two of five"));
  EXPECT_EQ(contest.sizes.size(), 1u);
}

TEST(ContestSpec, RefusesWhatMakesNoContest) {
  EXPECT_THAT(error_of("title", "tittle"), HasSubstr("c.toml:15: tittle: a key of [arena]"));
  EXPECT_THAT(error_of("recommended = \"table\"", "recommended = \"x\""), HasSubstr("\"x\""));
  EXPECT_THAT(error_of("[grid]\nattack", "[grid]\nmomentum = [0.2, 0.3]\nattack"),
              HasSubstr("attack = [...] and nothing else"));
  EXPECT_THAT(error_of("eta = [0.1, 0.5]", "eta = [0.1, 0.1]"), HasSubstr("twice"));
  EXPECT_THAT(error_of("eta = [0.1, 0.5]", "eta = [0.1, -1]"), HasSubstr("above 0"));
  EXPECT_THAT(error_of("panels = [\"one liar\"]", "panels = [\"two liars\"]"),
              HasSubstr("no panel \"two liars\""));
  EXPECT_THAT(error_of("not_in = [\"two of five\"]", "not_in = [\"three of five\"]"),
              HasSubstr("\"three of five\", which does not exist"));
  EXPECT_THAT(error_of("needs = \"f\"", "eta = 0.1"), HasSubstr("sets eta"));
  EXPECT_THAT(error_of(std::string(kNextContest), "best = 2", "recommended = \"x\""),
              HasSubstr("best = N"));
  EXPECT_THAT(error_of("title =", "worlds = [\"one liar\"]\ntitle ="),
              HasSubstr("come with best = N"));
}

// The next contest among the best of this one, with the worlds and the search of this one.
constexpr std::string_view kTakesOver = R"(
name = "next"
data = "files"
updates = 20
[grid]
attack = ["none"]
[arena]
title = "Next"
best = 2
worlds = ["two of five"]
[[arena.size]]
name = "quick"
search = { panels = ["two of five"], eta = [0.5] }
)";

TEST(ContestSpec, TakesWorldsAndSearchOverFromTheContestBefore) {
  const ContestSpec before = tiny_contest("/folder");
  std::string text(kTakesOver);

  EXPECT_THAT(parse_contest(text, "c.toml", &before).error().message,
              HasSubstr("there is no panel \"one liar\""))
      << "which the search taken over names";
  text.replace(text.find("worlds = ["), 10, "worlds = [\"one liar\", ");
  const auto contest = parse_contest(text, "c.toml", &before);

  ASSERT_TRUE(contest.has_value()) << contest.error().message;
  EXPECT_EQ(contest->search, before.search);
  ASSERT_EQ(contest->spec.panels.size(), 2u);
  EXPECT_EQ(contest->spec.panels[0].label, "one liar");
  EXPECT_EQ(contest->spec.panels[0].settings.size(), before.spec.panels[0].settings.size());
  EXPECT_THAT(at_size(*contest, "quick")->search.etas, ElementsAre(0.5));
  EXPECT_THAT(parse_contest(text, "c.toml").error().message, HasSubstr("none is before it"));
  text.replace(text.find("two of five"), 11, "six of five");
  EXPECT_THAT(parse_contest(text, "c.toml", &before).error().message,
              HasSubstr("the contest before has no panel \"six of five\""));
}

TEST(ContestSpec, HasShorterSizes) {
  const ContestSpec contest = tiny_contest("/folder");

  const auto quick = at_size(contest, "quick");

  ASSERT_TRUE(quick.has_value()) << quick.error().message;
  EXPECT_EQ(quick->spec.base.updates, 10u);
  EXPECT_EQ(quick->spec.panels.size(), 1u);
  EXPECT_TRUE(quick->spec.curves.at(2).not_in.empty());
  EXPECT_THAT(quick->search.etas, ElementsAre(0.5));
  EXPECT_THAT(quick->search.attacks, ElementsAre("sign-flip"));
  EXPECT_EQ(at_size(contest, kFullSize)->spec.base.updates, 20u);
  EXPECT_THAT(at_size(contest, "huge").error().message, HasSubstr("full, quick"));
}

TEST(SearchSpec, TriesEveryStepSizeOnHeldOutSamples) {
  const auto folder = data::TemporaryFolder::create(fs::temp_directory_path()).value();
  write_tiny_data(folder.path());

  const auto spec = search_spec(tiny_contest(folder.path()));

  ASSERT_TRUE(spec.has_value());
  const auto plan = experiment::expand(*spec);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->size(), 2u * 3u);  // step sizes x methods
  for (const auto& planned : *plan) {
    EXPECT_EQ(planned.run.validation_samples, 20u);
    EXPECT_EQ(planned.run.attack, "sign-flip");
    EXPECT_EQ(planned.seed, 9u);
  }
}

// Every accuracy by hand: table is best at 0.5, asgd is equally good at both, kardam diverged at
// 0.5 after a good evaluation.
TEST(FindSteps, PicksTheBestOfHandMadeRecords) {
  const auto folder = data::TemporaryFolder::create(fs::temp_directory_path()).value();
  write_tiny_data(folder.path());
  const ContestSpec contest = tiny_contest(folder.path());
  const auto plan = experiment::expand(search_spec(contest).value()).value();
  std::vector<records::RunRecord> records;
  for (const auto& planned : plan) {
    const bool is_large = planned.run.eta == 0.5;
    const double accuracy = planned.curve == "table"  ? (is_large ? 0.9 : 0.8)
                            : planned.curve == "asgd" ? 0.7
                                                      : (is_large ? 0.99 : 0.2);
    records.push_back(record_of(planned, accuracy));
    if (planned.curve == "kardam" && is_large) {
      records.back().status = records::RunStatus::kDiverged;
    }
  }
  const std::vector<std::string> curves = {"table", "asgd", "kardam"};

  const auto steps = find_steps(curves, contest.search.etas, plan, records);

  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  EXPECT_EQ(steps->at(0).eta, 0.5);
  EXPECT_THAT(steps->at(0).scores, ElementsAre(0.8, 0.9));
  EXPECT_EQ(steps->at(1).eta, 0.1);
  EXPECT_EQ(steps->at(2).eta, 0.1);
  EXPECT_THAT(steps->at(2).scores, ElementsAre(0.2, 0.0));
  const std::vector<std::string> stranger = {"nobody"};
  EXPECT_THAT(find_steps(stranger, contest.search.etas, plan, records).error().message,
              HasSubstr("nobody is left out"));
}

// What the program carries is whole: methods that can be run where the files say so, and nowhere
// else, and each size too.
TEST(CarriedContests, CanBeRunAtEverySize) {
  const auto contests = carried_contests();
  ASSERT_TRUE(contests.has_value()) << contests.error().message;
  ASSERT_EQ(contests->size(), 3u);
  for (const char* size : {"full", "medium", "quick"}) {
    const auto first = at_size(contests->at(0), size);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    for (const ContestSpec& contest : *contests) {
      auto sized = at_size(contest, size);
      ASSERT_TRUE(sized.has_value()) << sized.error().message;
      sized->spec.curves = first->spec.curves;  // any of them may be among the best
      const auto& panels = sized->spec.panels;
      for (experiment::Variant& curve : sized->spec.curves) {
        std::erase_if(curve.not_in, [&](const std::string& label) {
          return std::ranges::find(panels, label, &experiment::Variant::label) == panels.end();
        });
      }
      for (const auto& spec : {sized->spec, search_spec(*sized).value()}) {
        const auto plan = experiment::expand(spec);
        EXPECT_TRUE(plan.has_value()) << plan.error().message;
      }
    }
  }
}

TEST(CarriedContests, LeavesOutOnlyWhatCannotBeRun) {
  const auto contests = carried_contests().value();
  for (const auto& curve : contests[0].spec.curves) {
    for (const std::string& panel : curve.not_in) {
      experiment::Spec alone = contests[0].spec;
      alone.curves = {curve};
      alone.curves[0].not_in.clear();
      std::erase_if(alone.panels, [&](const auto& other) { return other.label != panel; });
      EXPECT_FALSE(experiment::expand(alone).has_value()) << curve.label << " in " << panel;
    }
  }
}

}  // namespace
}  // namespace ballast::arena
