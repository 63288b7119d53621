#include "ballast/records/figure.h"

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

}  // namespace
}  // namespace ballast::records
