#include "ballast/records/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

using testing::HasSubstr;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

HeatMapPicture some_picture() {
  return {.stem = "map",
          .title = "MNIST",
          .maps = {{.title = "one liar",
                    .rows = {"table", "asgd"},
                    .columns = {"none", "sign-flip", "worst"},
                    .values = {{97.5, 96.0, 96.0},
                               {97.0, std::numeric_limits<double>::quiet_NaN(), 97.0}},
                    .set_apart = 1}}};
}

TEST(HeatMapData, HasCellsAndBlanks) {
  const auto json = nlohmann::json::parse(heat_map_data(some_picture()).value());

  EXPECT_EQ(json["high"], 100.0);
  const auto& map = json["maps"].at(0);
  EXPECT_EQ(map["columns"], (std::vector<std::string>{"none", "sign-flip", "worst"}));
  EXPECT_EQ(map["values"][0][1], 96.0);
  EXPECT_TRUE(map["values"][1][1].is_null());
  EXPECT_EQ(map["set_apart"], 1);
}

TEST(HeatMapData, RefusesWhatCannotBeDrawn) {
  EXPECT_THAT(heat_map_data({}).error().message, HasSubstr("without heat maps"));
  HeatMapPicture short_row = some_picture();
  short_row.maps[0].values[1].pop_back();
  EXPECT_THAT(heat_map_data(short_row).error().message, HasSubstr("'one liar'"));
  HeatMapPicture no_row = some_picture();
  no_row.maps[0].values.pop_back();
  EXPECT_FALSE(heat_map_data(no_row).has_value());
  HeatMapPicture odd = some_picture();
  odd.maps[0].rows[0] = "\xFF";
  EXPECT_THAT(heat_map_data(odd).error().message, HasSubstr("UTF-8"));
}

TEST(DrawHeatMaps, DrawsTheSameSvgTwice) {
  const auto folder = make_test_folder();
  if (!data::run_program({.arguments = {"/usr/bin/python3", "-c", "import matplotlib"}})) {
    GTEST_SKIP() << "no python3 with matplotlib";
  }

  ASSERT_TRUE(draw_heat_maps(folder.path() / "a", some_picture()));
  ASSERT_TRUE(draw_heat_maps(folder.path() / "b", some_picture()));

  const std::string svg = bytes_of(folder.path() / "a/map.svg");
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_EQ(svg, bytes_of(folder.path() / "b/map.svg"));
}

}  // namespace
}  // namespace ballast::records
