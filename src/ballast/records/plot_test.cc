#include "ballast/records/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool has_matplotlib() {
  for (const char* interpreter : {"python3", "/usr/bin/python3"}) {
    if (data::run_program({.arguments = {interpreter, "-c", "import matplotlib"}})) return true;
  }
  return false;
}

TEST(PlotData, HasMeanAndDeviationInPerCent) {
  const auto data = plot_data(some_records(), {.title = "MNIST"});
  ASSERT_TRUE(data) << data.error().message;
  const auto json = nlohmann::json::parse(*data);

  EXPECT_EQ(json["title"], "MNIST");
  ASSERT_EQ(json["panels"].size(), 2u);
  EXPECT_EQ(json["panels"][0]["title"], "label flip");
  ASSERT_EQ(json["panels"][0]["curves"].size(), 2u);
  const auto& curve = json["panels"][0]["curves"][0];
  EXPECT_EQ(curve["label"], "\xCF\x89-GM");
  EXPECT_EQ(curve["t"], (std::vector{100, 200}));
  EXPECT_DOUBLE_EQ(curve["mean"][0], 48.5);
  EXPECT_DOUBLE_EQ(curve["mean"][1], 97.0);
  EXPECT_NEAR(curve["deviation"][1].get<double>(), std::sqrt(2.0), 1e-12);
}

TEST(PlotData, TakesTheSeedsThatReachedEachUpdate) {
  std::vector<RunRecord> records = {record_of("p", "c", 1, 0.4), record_of("p", "c", 2, 0.8)};
  records[0].evaluations.pop_back();

  const auto json = nlohmann::json::parse(plot_data(records, {}).value());

  const auto& curve = json["panels"][0]["curves"][0];
  EXPECT_DOUBLE_EQ(curve["mean"][0], 30.0);  // 20 and 40
  EXPECT_DOUBLE_EQ(curve["mean"][1], 80.0);  // the second seed alone
  EXPECT_EQ(curve["deviation"][1], 0.0);
}

TEST(PlotData, RefusesRecordsWithNothingToDraw) {
  EXPECT_FALSE(plot_data({}, {}));
  const std::vector records = {record_of("\xFF", "c", 1, 0.5)};
  EXPECT_FALSE(plot_data(records, {}));
}

TEST(PlotCurves, SaysWhatIsMissingAndWritesNothing) {
  const auto folder = make_test_folder();
  const auto no_python = [](const data::ProgramCall& call) -> Status {
    return not_found(call.arguments[0] + " is not installed");
  };

  const Status status = plot_curves(folder.path(), some_records(), {}, no_python);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(status.error().message, HasSubstr("python3 is not installed; install"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PlotCurves, TriesDebiansPythonWhereAnotherLacksMatplotlib) {
  const auto folder = make_test_folder();
  const auto only_debians = [](const data::ProgramCall& call) -> Status {
    if (call.arguments[0] != "/usr/bin/python3") return io_error("it has no matplotlib");
    std::ofstream(call.folder / "plot.png") << "png";
    std::ofstream(call.folder / "plot.svg") << "svg";
    return {};
  };

  const Status status =
      plot_curves(folder.path() / "new", some_records(), {.stem = "fig2"}, only_debians);

  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(text_of(folder.path() / "new" / "fig2.png"), "png");
  EXPECT_EQ(text_of(folder.path() / "new" / "fig2.svg"), "svg");
}

TEST(PlotCurves, DrawsTheSameSvgTwice) {
  if (!has_matplotlib()) GTEST_SKIP() << "no python3 with matplotlib";
  const auto folder = make_test_folder();
  std::vector<RunRecord> records = some_records();
  records[0].evaluations[0].test_accuracy = std::nan("");

  const FigureOptions options{.stem = "curves", .title = "5 $ and $ more"};
  const Status first = plot_curves(folder.path() / "a", records, options);
  const Status second = plot_curves(folder.path() / "b", records, options);

  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  const std::string svg = text_of(folder.path() / "a" / "curves.svg");
  EXPECT_EQ(svg, text_of(folder.path() / "b" / "curves.svg"));
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_THAT(svg, HasSubstr("\xCF\x89-GM"));
  EXPECT_THAT(svg, Not(HasSubstr("dc:date")));
  EXPECT_THAT(text_of(folder.path() / "a" / "curves.png"), StartsWith("\x89PNG"));
}

std::vector<RunRecord> explained_records() {
  std::vector<RunRecord> records = {record_of("p", "c", 1, 0.4), record_of("p", "c", 2, 0.8)};
  records[0].evaluations[0].why = Explanation{.byzantine_kept = 0.2, .direction_cosine = 0.5};
  records[1].evaluations[0].why = Explanation{.byzantine_kept = 0.4, .direction_cosine = NAN};
  return records;
}

TEST(WhyData, HasTheMeansOfWhatIsKnown) {
  const auto json = nlohmann::json::parse(why_data(explained_records(), {}).value());

  EXPECT_EQ(json["measures"].size(), 4u);
  const auto& curve = json["panels"][0]["curves"][0];
  EXPECT_EQ(curve["t"], (std::vector{100, 200}));
  EXPECT_NEAR(curve["means"]["byzantine_kept"][0].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(curve["means"]["direction_cosine"][0], 0.5) << "of the one seed that has it";
  EXPECT_TRUE(curve["means"]["direction_cosine"][1].is_null());
}

TEST(PlotWhy, DrawsTheSameSvgTwice) {
  if (!has_matplotlib()) GTEST_SKIP() << "no python3 with matplotlib";
  const auto folder = make_test_folder();
  for (const char* name : {"a", "b"}) {
    const Status drawn = plot_why(folder.path() / name, explained_records(), {.stem = "why"});
    ASSERT_TRUE(drawn) << drawn.error().message;
  }
  EXPECT_EQ(text_of(folder.path() / "a" / "why.svg"), text_of(folder.path() / "b" / "why.svg"));
  EXPECT_THAT(text_of(folder.path() / "a" / "why.png"), StartsWith("\x89PNG"));
}

}  // namespace
}  // namespace ballast::records
