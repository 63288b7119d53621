#include "ballast/records/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ballast/records/drawing.h"

namespace ballast::embedded {

extern const std::string_view kPlotHeatMapScript;

}  // namespace ballast::embedded

namespace ballast::records {
namespace {

using Json = nlohmann::ordered_json;

bool has_one_value_per_cell(const HeatMap& map) {
  return !map.rows.empty() && !map.columns.empty() && map.values.size() == map.rows.size() &&
         std::ranges::all_of(map.values,
                             [&](const auto& row) { return row.size() == map.columns.size(); });
}

Json values_json(const HeatMap& map) {
  Json rows = Json::array();
  for (const auto& values : map.values) {
    Json row = Json::array();
    for (const double value : values) row.push_back(std::isfinite(value) ? Json(value) : Json());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::string> heat_map_data(const HeatMapPicture& picture) {
  if (picture.maps.empty()) return invalid_argument("cannot draw a picture without heat maps");
  Json maps = Json::array();
  for (const HeatMap& map : picture.maps) {
    if (!has_one_value_per_cell(map)) {
      return invalid_argument(
          fmt::format("cannot draw the heat map '{}': it has {} rows of values for {} rows and {} "
                      "columns, or rows of another length",
                      map.title, map.values.size(), map.rows.size(), map.columns.size()));
    }
    maps.push_back({{"title", map.title},
                    {"rows", map.rows},
                    {"columns", map.columns},
                    {"values", values_json(map)},
                    {"set_apart", map.set_apart}});
  }
  try {
    return Json{{"title", picture.title},
                {"low", picture.low},
                {"high", picture.high},
                {"maps", std::move(maps)}}
        .dump();
  } catch (const Json::exception&) {
    return invalid_argument("cannot draw a heat map: titles and labels must be UTF-8");
  }
}

Status draw_heat_maps(const std::filesystem::path& folder, const HeatMapPicture& picture,
                      const data::ProgramRunner& run) {
  BALLAST_TRY(const std::string data, heat_map_data(picture));
  return draw(folder, {.stem = picture.stem, .script = embedded::kPlotHeatMapScript, .data = data},
              run);
}

}  // namespace ballast::records
