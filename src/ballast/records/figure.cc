#include "ballast/records/figure.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ballast/records/drawing.h"

namespace ballast::embedded {

extern const std::string_view kPlotFigureScript;

}  // namespace ballast::embedded

namespace ballast::records {

using Json = nlohmann::ordered_json;

Result<std::string> figure_data(const Figure& figure) {
  Json curves = Json::array();
  for (const FigureCurve& curve : figure.curves) {
    if (curve.x.size() != curve.y.size()) {
      return invalid_argument(fmt::format("cannot draw '{}': {} values of x, {} of y", curve.label,
                                          curve.x.size(), curve.y.size()));
    }
    curves.push_back({{"label", curve.label},
                      {"x", curve.x},
                      {"y", curve.y},
                      {"is_reference", curve.is_reference}});
  }
  if (curves.empty()) return invalid_argument("cannot draw a figure without curves");
  try {
    return Json{{"title", figure.title},
                {"x_label", figure.x_label},
                {"y_label", figure.y_label},
                {"has_log_axes", figure.has_log_axes},
                {"curves", std::move(curves)}}
        .dump();
  } catch (const Json::exception&) {
    return invalid_argument("cannot draw a figure: titles and labels must be UTF-8");
  }
}

Status draw_figure(const std::filesystem::path& folder, const Figure& figure,
                   const data::ProgramRunner& run) {
  BALLAST_TRY(const std::string data, figure_data(figure));
  return draw(folder, {.stem = figure.stem, .script = embedded::kPlotFigureScript, .data = data},
              run);
}

}  // namespace ballast::records
