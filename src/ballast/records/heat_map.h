#pragma once
// Heat maps: one coloured and numbered cell for each row and column, drawn by matplotlib like
// plot.h's curves.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/program.h"

namespace ballast::records {

struct HeatMap {
  std::string title = {};
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<double>> values = {};  // by row; what is not finite is left blank
  std::size_t set_apart = 0;                     // so many of the last columns, by a line
};

struct HeatMapPicture {
  std::string stem = {};  // of the files
  std::string title = {};
  double low = 0.0, high = 100.0;  // the ends of the colours
  std::vector<HeatMap> maps = {};
};

// What is drawn, as JSON; a blank is null. Refuses a picture without maps, a map without cells or
// with another number of values than cells, and text that is not UTF-8.
Result<std::string> heat_map_data(const HeatMapPicture& picture);

// Draws STEM.png and STEM.svg into the folder, the maps one below the other. Needs python3 with
// matplotlib but no display; an error says what is missing, and nothing is written then.
//
// Determinism: the same picture gives the same SVG with the same matplotlib.
Status draw_heat_maps(const std::filesystem::path& folder, const HeatMapPicture& picture,
                      const data::ProgramRunner& run = data::run_program);

}  // namespace ballast::records
