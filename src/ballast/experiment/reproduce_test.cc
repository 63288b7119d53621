#include "ballast/experiment/reproduce.h"
#include "ballast/experiment/tiny_data_for_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ballast/data/temporary_folder.h"
#include "ballast/files/text_file.h"

namespace ballast::experiment {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two panels, two curves and two seeds of 20 updates each.
constexpr std::string_view kSpec = R"toml(
data = "files"
train_images = "x.npy"
train_labels = "y.npy"
test_images = "x.npy"
test_labels = "y.npy"
updates = 20
evaluate_every = 10
workers = 5
batch = 4
eta = 0.5
seeds = [1, 2]
[[panel]]
label = "as stated"
share = 0.4
[[panel]]
label = "as run"
stated_share = 0.4
share = "1/3"
[[curve]]
label = "mean <b>"
rule = "mean"
[[curve]]
label = "ctma"
rule = "ctma(gm, {share})"
[[claim]]
text = "anything goes"
better = "ctma"
worse = "mean <b>"
margin = -100
[[claim]]
text = "nothing does"
better = "ctma"
worse = "mean <b>"
margin = 101
)toml";

class ReproduceTest : public testing::Test {
 protected:
  ReproduceTest()
      : folder_(data::TemporaryFolder::create(fs::temp_directory_path()).value()),
        out_(folder_.path() / "out") {
    write_tiny_data(folder_.path(), 40);
  }

  std::vector<PaperFigure> figures() const {
    auto spec = parse_spec(kSpec, folder_.path() / "spec.toml");
    EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().message);
    return {{.number = 8, .title = "Figure 8. A test", .spec = *spec},
            {.number = 9, .title = "Figure 9. Another", .spec = *spec}};
  }

  ReproduceOptions options() {
    return {.folder = out_,
            .threads = 2,
            .is_quick = true,
            .on_start = [this](std::uint64_t updates) { planned_ = updates; },
            .on_figure = [this](const PaperFigure&, std::uint64_t updates) { found_ += updates; },
            .on_progress = [this](std::uint64_t updates) { made_ += updates; }};
  }

  std::string text_of(const char* file) const {
    auto text = files::read_text(out_ / file, std::size_t{1} << 24);
    EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().message);
    return text.value_or("");
  }

  data::TemporaryFolder folder_;
  fs::path out_;
  std::uint64_t planned_ = 0;
  std::uint64_t found_ = 0;
  std::atomic<std::uint64_t> made_ = 0;
};

TEST_F(ReproduceTest, WritesRunsClaimsAndReport) {
  const auto result = reproduce(figures(), options());

  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_TRUE(result->is_complete);
  EXPECT_EQ(planned_, 2u * 8u * 20u);
  // The second figure has the runs of the first, and makes only that whose model it keeps.
  EXPECT_EQ(made_, (8u + 1u) * 20u);
  EXPECT_EQ(found_, 7u * 20u);
  EXPECT_EQ(std::ranges::count(text_of("fig9/metrics.csv"), '\n'), 1 + 8 * 2);
  for (const char* file : {"fig8/metrics.csv", "fig8/summary.json", "fig9/spec.toml"}) {
    EXPECT_TRUE(fs::exists(out_ / file)) << file;
  }
  const auto claims = nlohmann::json::parse(text_of("claims.json"))["claims"];
  ASSERT_EQ(claims.size(), 2u * 2u * 2u);
  EXPECT_EQ(claims[0]["figure"], 8);
  EXPECT_EQ(claims[0]["finding"], "holds");
  EXPECT_EQ(claims[1]["finding"], "fails");
  EXPECT_EQ(claims[2]["share_run"], 1.0 / 3.0);
}

TEST_F(ReproduceTest, ReportsBothSharesAndSaysWhenItIsQuick) {
  ASSERT_TRUE(reproduce(figures(), options()).has_value());

  const std::string page = text_of("report.html");

  EXPECT_THAT(page, HasSubstr("(quick version)"));
  EXPECT_THAT(page, HasSubstr("This is the quick version"));
  EXPECT_THAT(page, HasSubstr("<h2>Figure 8. A test</h2>"));
  EXPECT_THAT(page, HasSubstr("<td>anything goes</td><td>holds</td><td>holds</td>"));
  EXPECT_THAT(page, HasSubstr("<td>nothing does</td><td>fails</td><td>fails</td>"));
  EXPECT_THAT(page, HasSubstr("mean &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("<td>1/3</td>"));
}

TEST_F(ReproduceTest, WritesThePageOfTheDocumentsWithItsPictures) {
  auto named = options();
  named.command = "ballast reproduce --figure 8";
  named.program = "ballast 1 (commit abc)";
  ASSERT_TRUE(reproduce(figures(), named).has_value());

  const std::string page = text_of("results.md");

  EXPECT_THAT(page, testing::StartsWith("# Weight for Robustness, reproduced (quick version)\n"));
  EXPECT_THAT(page, HasSubstr("Made by ballast 1 (commit abc) with\n\n```\n" + named.command));
  EXPECT_THAT(page, HasSubstr("| curve | as stated | as run |\n|---|---:|---:|\n| mean &lt;b> |"));
  if (fs::exists(out_ / "fig9/curves.svg")) {
    EXPECT_THAT(page, HasSubstr("](images/fig9.svg)"));
    EXPECT_EQ(text_of("images/fig9.svg"), text_of("fig9/curves.svg"));
  }
}

TEST_F(ReproduceTest, FullReportsDoNotCallThemselvesQuick) {
  auto full = options();
  full.is_quick = false;
  ASSERT_TRUE(reproduce(figures(), full).has_value());

  EXPECT_THAT(text_of("report.html"), testing::Not(HasSubstr("quick")));
}

TEST_F(ReproduceTest, FindsWhatIsDone) {
  ASSERT_TRUE(reproduce(figures(), options()).has_value());
  const std::string claims = text_of("claims.json");
  made_ = 0;
  found_ = 0;

  const auto again = reproduce(figures(), options());

  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->is_complete);
  EXPECT_EQ(found_, planned_);
  EXPECT_EQ(made_, 0u);
  EXPECT_EQ(text_of("claims.json"), claims);
}

TEST_F(ReproduceTest, StopsWithoutAReportWhenAsked) {
  const std::atomic<bool> stop = true;
  auto stopped = options();
  stopped.stop = &stop;

  const auto result = reproduce(figures(), stopped);

  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_FALSE(result->is_complete);
  EXPECT_FALSE(fs::exists(out_ / "report.html"));
}

TEST_F(ReproduceTest, LooksForEverythingBeforeAnythingRuns) {
  auto wanted = figures();
  wanted[1].spec.base.data = "cifar10";
  wanted[1].spec.base.data_dir = folder_.path() / "nowhere";

  const auto result = reproduce(wanted, options());

  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, testing::AllOf(testing::StartsWith("figure 9: "),
                                                     HasSubstr("ballast data get cifar10")));
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace ballast::experiment
