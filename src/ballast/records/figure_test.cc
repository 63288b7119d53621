#include "ballast/records/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Figure some_figure() {
  return {.stem = "slopes",
          .title = "Excess loss",
          .x_label = "T",
          .y_label = "f",
          .curves = {{.label = "measured", .x = {1, 2, 4}, .y = {1.0, 0.4, 0.0}},
                     {.label = "bound", .x = {1, 4}, .y = {2.0, 0.5}, .is_reference = true}}};
}

TEST(FigureData, HasCurvesAndLabels) {
  const auto json = nlohmann::json::parse(figure_data(some_figure()).value());

  EXPECT_EQ(json["title"], "Excess loss");
  EXPECT_EQ(json["x_label"], "T");
  EXPECT_TRUE(json["has_log_axes"]);
  ASSERT_EQ(json["curves"].size(), 2u);
  EXPECT_EQ(json["curves"][0]["y"], (std::vector{1.0, 0.4, 0.0}));
  EXPECT_TRUE(json["curves"][1]["is_reference"]);
}

TEST(FigureData, RefusesWhatCannotBeDrawn) {
  EXPECT_THAT(figure_data({}).error().message, HasSubstr("without curves"));
  EXPECT_THAT(figure_data({.curves = {{.label = "odd", .x = {1, 2}, .y = {1}}}}).error().message,
              HasSubstr("'odd': 2 values of x, 1 of y"));
  EXPECT_THAT(figure_data({.title = "\xFF", .curves = {{}}}).error().message, HasSubstr("UTF-8"));
}

TEST(DrawFigure, LeavesBothPicturesUnderItsStem) {
  const auto folder = make_test_folder();
  const auto painter = [](const data::ProgramCall& call) -> Status {
    std::ofstream(call.folder / "plot.png") << "png";
    std::ofstream(call.folder / "plot.svg") << "svg";
    return {};
  };

  ASSERT_TRUE(draw_figure(folder.path(), some_figure(), painter));

  EXPECT_TRUE(std::filesystem::exists(folder.path() / "slopes.png"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "slopes.svg"));
}

// The script itself: the zero that has no logarithm is left out.
TEST(DrawFigure, DrawsTheSameSvgTwice) {
  const auto folder = make_test_folder();
  if (!data::run_program({.arguments = {"/usr/bin/python3", "-c", "import matplotlib"}})) {
    GTEST_SKIP() << "no python3 with matplotlib";
  }

  ASSERT_TRUE(draw_figure(folder.path() / "a", some_figure()));
  ASSERT_TRUE(draw_figure(folder.path() / "b", some_figure()));

  const std::string svg = text_of(folder.path() / "a" / "slopes.svg");
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_EQ(svg, text_of(folder.path() / "b" / "slopes.svg"));
}

}  // namespace
}  // namespace ballast::records
