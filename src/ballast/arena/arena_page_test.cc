#include "ballast/arena/arena_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ballast/arena/test_contest.h"
#include "ballast/data/temporary_folder.h"
#include "ballast/records/markdown_report.h"

namespace ballast::arena {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Worked out by hand. The seeds of asgd differ by 5 and 6 points from the table where nobody lies,
// by -40 and -39 where somebody does; Student's interval of two values is their mean and 12.706
// times half their difference. "(-)" stands for a dash, "+/-" for its sign, and lines that end in a
// backslash go on.
constexpr std::string_view kGolden = R"md(
## Tiny in short

2 worlds, 2 attacks, 20 updates, 2 seeds.

| method | must be told | mean | worst | worst in | mean against recommended | ahead / behind |
|---|---|---:|---:|---|---|---|
| table | share | 90.0 | 90.0 | none, one liar | (-) | (-) |
| asgd | (-) | 73.0 | 50.5 | sign-flip, one liar | -17.00 [-23.35, -10.65] | 0 / 2 |
| kardam | f | 60.0 | 60.0 | none, one liar (run in 2 of 4 cells) | -30.00 [-30.00, -30.00] | 0 \
/ 2 |

## Tiny: where another is ahead of the recommended setting

Nowhere.

## Tiny, world by world

## Tiny: one liar

5 workers, 1 of them Byzantine with a share of 0.3 of the updates; arrivals id; every worker \
draws from the whole training set.

| method | none | sign-flip |
|---|---:|---:|
| table | 90.0 +/- 0.0 | 90.0 +/- 0.0 |
| asgd | 95.5 +/- 0.7 | 50.5 +/- 0.7 |
| kardam | 60.0 +/- 0.0 | 60.0 +/- 0.0 |

The same against the recommended setting, in points:

| method | none | sign-flip |
|---|---|---|
| table | +0.00 [+0.00, +0.00] | +0.00 [+0.00, +0.00] |
| asgd | +5.50 [-0.85, +11.85] | -39.50 [-45.85, -33.15] |
| kardam | -30.00 [-30.00, -30.00] | -30.00 [-30.00, -30.00] |

## Tiny: two of five

5 workers, 2 of them Byzantine with a share of 0.3 of the updates; arrivals id; each class is \
split among the workers by Dirichlet(1). On a virtual clock, compute times constant: the 20 \
updates take 3.5 virtual seconds (first seed), a worker of speed 1 needing one second for an \
update on average.

| method | none | sign-flip |
|---|---|---|
| table | 90.0 +/- 0.0 | 90.0 +/- 0.0 |
| asgd | 95.5 +/- 0.7 | 50.5 +/- 0.7 |
| kardam | (-) | (-) |

The same against the recommended setting, in points:

| method | none | sign-flip |
|---|---|---|
| table | +0.00 [+0.00, +0.00] | +0.00 [+0.00, +0.00] |
| asgd | +5.50 [-0.85, +11.85] | -39.50 [-45.85, -33.15] |
| kardam | (-) | (-) |

## Tiny: what cannot be run

| method | world | why |
|---|---|---|
| kardam | two of five | too many |

## Tiny: the search for step sizes

Accuracy in per cent on 20 samples of the training set that no worker drew, mean over the \
attacks sign-flip in: one liar; 20 updates, seeds 9. A run that diverged counts as 0.

| method | 0.1 | 0.5 | taken |
|---|---:|---:|---|
| table | 80.0 | 90.0 | 0.5 (end of the list) |
)md";

std::string signs_of(std::string text) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"(-)", "\xE2\x80\x93"},
                                 {"+/-", "\xC2\xB1"},
                                 {"\\\n", ""}}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

class ArenaPageTest : public testing::Test {
 protected:
  ArenaPageTest() : folder_(data::TemporaryFolder::create(fs::temp_directory_path()).value()) {
    write_tiny_data(folder_.path());
  }

  // table 0.9 everywhere; asgd 0.95 where nobody lies and 0.5 where somebody does, a hundredth more
  // for seed 2; kardam 0.6.
  ContestResult result() const {
    ContestResult result{.contest = tiny_contest(folder_.path())};
    const auto plan = experiment::expand(result.contest.spec).value();
    std::vector<records::RunRecord> records;
    for (const auto& planned : plan) {
      const double asgd = (planned.run.attack == "none" ? 0.95 : 0.5) + 0.01 * (planned.seed == 2);
      records.push_back(record_of(planned, planned.curve == "table"  ? 0.9
                                           : planned.curve == "asgd" ? asgd
                                                                     : 0.6));
    }
    result.standings = make_standings(plan, records, "table");
    result.worlds = {{.label = "one liar", .run = plan.front().run},
                     {.label = "two of five", .run = plan.back().run, .virtual_seconds = 3.5}};
    result.steps = {{.curve = "table", .eta = 0.5, .place = 1, .scores = {0.8, 0.9}}};
    result.not_run = {{.method = "kardam", .world = "two of five", .reason = "too many"}};
    return result;
  }

  data::TemporaryFolder folder_;
};

TEST_F(ArenaPageTest, HasTheTablesOfHandMadeRecords) {
  const ContestResult one = result();

  const std::string page = records::markdown_page(make_page({&one, 1}, {}));

  const std::size_t begin = page.find("\n## Tiny in short");
  const std::size_t end = page.find("\n## Cost per update");
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin, end - begin), signs_of(std::string(kGolden)));
  EXPECT_THAT(page.substr(end), HasSubstr("| Tiny | asgd | 1.00 |"));
  EXPECT_THAT(page, HasSubstr("Student's 95 % interval"));
}

// One seed has no interval: what leads by a point is listed, and nothing is called decided.
TEST_F(ArenaPageTest, ListsRivalsThatAreAheadBySeedOrByInterval) {
  ContestResult one = result();
  for (MethodStanding& standing : one.standings.methods) {
    for (auto& cell : standing.cells) {
      if (cell) cell->difference.low = -std::numeric_limits<double>::infinity();
    }
  }
  one.standings.seed_count = 1;

  const std::string page = records::markdown_page(make_page({&one, 1}, {.size = "quick"}));

  EXPECT_THAT(page, HasSubstr("By at least 1 point."));
  EXPECT_THAT(page, HasSubstr("| asgd | none | one liar | 95.5"));
  EXPECT_THAT(page, HasSubstr("| +5.50 |"));
  EXPECT_THAT(page, testing::Not(HasSubstr("kardam | none | one liar | 60")));
  EXPECT_THAT(page, HasSubstr("its size \"quick\""));
}

TEST_F(ArenaPageTest, DrawsTheWorstCaseInTheLastColumn) {
  const ContestResult one = result();

  const auto worst = heat_maps(one, HeatMapKind::kWorst);
  const auto worlds = heat_maps(one, HeatMapKind::kWorlds);

  ASSERT_EQ(worst.maps.size(), 1u);
  EXPECT_EQ(worst.stem, "tiny-worst");
  EXPECT_THAT(worst.maps[0].rows, ElementsAre("table", "asgd", "kardam"));
  EXPECT_THAT(worst.maps[0].columns, ElementsAre("none", "sign-flip", "worst"));
  EXPECT_THAT(worst.maps[0].values[1], ElementsAre(95.5, 50.5, 50.5));
  ASSERT_EQ(worlds.maps.size(), 2u);
  EXPECT_TRUE(std::isnan(worlds.maps[1].values[2][2]));
}

}  // namespace
}  // namespace ballast::arena
