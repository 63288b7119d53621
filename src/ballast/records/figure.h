#pragma once
// Figures of any two quantities against each other, drawn by matplotlib like plot.h's curves.

#include <filesystem>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/program.h"

namespace ballast::records {

struct FigureCurve {
  std::string label = {};
  std::vector<double> x{};
  std::vector<double> y{};
  bool is_reference = false;  // a bound or a guide: a thin line without marks
};

struct Figure {
  std::string stem = {};  // of the files
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  bool has_log_axes = true;
  std::vector<FigureCurve> curves{};
};

// What is drawn, as JSON. Refuses a figure without curves, curves whose x and y differ in length,
// and text that is not UTF-8.
Result<std::string> figure_data(const Figure& figure);

// Draws STEM.png and STEM.svg into the folder. Points that logarithms do not have are left out.
// Needs python3 with matplotlib but no display; an error says what is missing, and nothing is
// written then.
//
// Determinism: the same figure gives the same SVG with the same matplotlib.
Status draw_figure(const std::filesystem::path& folder, const Figure& figure,
                   const data::ProgramRunner& run = data::run_program);

}  // namespace ballast::records
