#include "ballast/arena/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/arena/test_contest.h"
#include "ballast/data/temporary_folder.h"
#include "ballast/files/text_file.h"

namespace ballast::arena {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ArenaTest : public testing::Test {
 protected:
  ArenaTest()
      : folder_(data::TemporaryFolder::create(fs::temp_directory_path()).value()),
        out_(folder_.path() / "out") {
    write_tiny_data(folder_.path());
  }

  std::vector<ContestSpec> contests() const {
    return {tiny_contest(folder_.path()), tiny_contest(folder_.path(), kNextContest)};
  }

  ArenaOptions options() {
    return {.folder = out_,
            .threads = 2,
            .command = "ballast arena tiny.toml",
            .program = "ballast 1",
            .painter = paint,
            .on_start =
                [this](std::uint64_t updates, std::size_t runs) {
                  planned_ = updates;
                  runs_ = runs;
                },
            .on_stage = [this](const std::string&, std::uint64_t updates) { found_ += updates; },
            .on_progress = [this](std::uint64_t updates) { made_ += updates; }};
  }

  // The real ones take seconds each.
  static Status paint(const data::ProgramCall& call) {
    for (const char* name : {"plot.png", "plot.svg"}) {
      BALLAST_TRY_STATUS(files::write_text(call.folder / name, "<svg></svg>"));
    }
    return {};
  }

  // The page up to the costs, which are measured.
  static std::string page_of(const fs::path& folder) {
    auto text = files::read_text(folder / "arena.md", std::size_t{1} << 24);
    EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().message);
    const std::string page = text.value_or("");
    return page.substr(0, page.find(std::string("## ") + std::string(kCostHeading)));
  }

  data::TemporaryFolder folder_;
  fs::path out_;
  std::uint64_t planned_ = 0, found_ = 0;
  std::size_t runs_ = 0;
  std::atomic<std::uint64_t> made_ = 0;
};

// Search: 2 step sizes x 3 methods of 20 updates; contest: 2 attacks x (3 + 2) methods x 2 seeds of
// 20; then 2 searches and 2 x 2 runs of 10.
TEST_F(ArenaTest, SearchesRunsAndWritesThePage) {
  const auto result = run_arena(contests(), options());

  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(result->is_complete);
  EXPECT_EQ(runs_, 6u + 20u + 2u + 4u);
  EXPECT_EQ(planned_, (6u + 20u) * 20u + (2u + 4u) * 10u);
  EXPECT_EQ(made_, planned_);
  ASSERT_EQ(result->contests.size(), 2u);
  EXPECT_EQ(result->contests[1].standings.methods.size(), 2u);
  EXPECT_EQ(result->contests[1].standings.methods[0].method, "table");
  const std::string page = page_of(out_);
  EXPECT_THAT(page, testing::StartsWith("# The arena\n"));
  EXPECT_THAT(page, HasSubstr("Made by ballast 1 with\n\n```\nballast arena tiny.toml\n```"));
  EXPECT_THAT(page, HasSubstr("## Tiny: what cannot be run"));
  EXPECT_THAT(page, HasSubstr("| kardam | two of five | method = "));
  EXPECT_THAT(page, HasSubstr("On a virtual clock"));
  EXPECT_THAT(page, HasSubstr("## Next in short"));
  EXPECT_TRUE(fs::exists(out_ / "report.html"));
  EXPECT_TRUE(fs::exists(out_ / "tiny-search/runs"));
  EXPECT_THAT(page, HasSubstr("](images/tiny-worst.svg)"));
  EXPECT_TRUE(fs::exists(out_ / "images/next-worlds.svg"));
}

TEST_F(ArenaTest, GoesOnAfterAStopToTheSamePage) {
  ASSERT_TRUE(run_arena(contests(), options()).has_value());
  const std::string page = page_of(out_);
  const std::uint64_t all = made_;
  out_ = folder_.path() / "stopped";
  made_ = 0;
  std::atomic<bool> stop = false;
  auto stopped = options();
  stopped.stop = &stop;
  stopped.on_progress = [&](std::uint64_t updates) {
    made_ += updates;
    if (made_ > all / 2) stop = true;
  };

  const auto half = run_arena(contests(), stopped);
  ASSERT_TRUE(half.has_value()) << half.error().message;
  EXPECT_FALSE(half->is_complete);
  EXPECT_FALSE(fs::exists(out_ / "arena.md"));
  made_ = 0;
  found_ = 0;
  const auto rest = run_arena(contests(), options());

  ASSERT_TRUE(rest.has_value()) << rest.error().message;
  EXPECT_TRUE(rest->is_complete);
  EXPECT_GT(found_, 0u);
  EXPECT_EQ(page_of(out_), page);
}

TEST_F(ArenaTest, AddsAnAttackWithoutRepeatingRuns) {
  auto one = contests();
  one.pop_back();
  ASSERT_TRUE(run_arena(one, options()).has_value());
  made_ = 0;
  ASSERT_TRUE(
      experiment::apply_override(one[0].spec, "grid.attack=['none', 'sign-flip', 'scaled(-10)']"));

  const auto again = run_arena(one, options());

  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(made_, 5u * 2u * 20u);  // methods in both worlds x seeds
  EXPECT_THAT(page_of(out_), HasSubstr("| scaled |"));
}

TEST_F(ArenaTest, WritesThePageAlsoWherePicturesCannotBeDrawn) {
  auto blind = options();
  blind.painter = [](const data::ProgramCall&) -> Status { return unsupported("no paint"); };
  auto one = contests();
  one.pop_back();

  const auto result = run_arena(one, blind);

  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(result->is_complete);
  EXPECT_THAT(result->warning, HasSubstr("no paint"));
  EXPECT_THAT(page_of(out_), Not(HasSubstr("images/")));
}

TEST_F(ArenaTest, SaysThatItIsShort) {
  auto one = contests();
  one.pop_back();
  one[0] = at_size(one[0], "quick").value();
  auto quick = options();
  quick.size = "quick";

  ASSERT_TRUE(run_arena(one, quick).has_value());

  const std::string page = page_of(out_);
  EXPECT_THAT(page, testing::StartsWith("# The arena (quick)\n"));
  EXPECT_THAT(page, HasSubstr("its size \"quick\""));
  EXPECT_THAT(page, HasSubstr("There is one seed, which decides nothing"));
  EXPECT_THAT(page, Not(HasSubstr("what cannot be run")));
}

TEST_F(ArenaTest, LooksForEverythingBeforeAnythingRuns) {
  auto wanted = contests();
  wanted[1].spec.base.data = "cifar10";
  wanted[1].spec.base.data_dir = folder_.path() / "nowhere";

  const auto result = run_arena(wanted, options());

  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("ballast data get cifar10"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ArenaTest, RefusesToHoldOutEverything) {
  auto wanted = contests();
  wanted[0].search.validation_samples = 60;

  const auto result = run_arena(wanted, options());

  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message,
              HasSubstr("validation_samples = 60: the training set has 60 samples"));
}

}  // namespace
}  // namespace ballast::arena
