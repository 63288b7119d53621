#include "ballast/records/plot.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/records/curve_groups.h"
#include "ballast/records/drawing.h"
#include "ballast/records/summary.h"

namespace ballast::embedded {

extern const std::string_view kPlotCurvesScript;

}  // namespace ballast::embedded

namespace ballast::records {
namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const CurveGroup& group) {
  std::map<std::uint64_t, std::vector<double>> accuracies;
  for (const RunRecord* run : group.runs) {
    for (const EvaluationRecord& evaluation : run->evaluations) {
      accuracies[evaluation.t].push_back(100.0 * evaluation.test_accuracy);
    }
  }
  Json curve = {{"label", group.curve},
                {"t", Json::array()},
                {"mean", Json::array()},
                {"deviation", Json::array()}};
  for (const auto& [t, values] : accuracies) {
    const Spread spread = spread_of(values);
    curve["t"].push_back(t);
    curve["mean"].push_back(spread.mean);
    curve["deviation"].push_back(spread.deviation);
  }
  return curve;
}

}  // namespace

Result<std::string> plot_data(std::span<const RunRecord> records, const FigureOptions& options) {
  Json panels = Json::array();
  for (const CurveGroup& group : curve_groups(records)) {
    if (panels.empty() || panels.back()["title"] != group.panel) {
      panels.push_back({{"title", group.panel}, {"curves", Json::array()}});
    }
    panels.back()["curves"].push_back(curve_json(group));
  }
  if (panels.empty()) return invalid_argument("cannot draw curves: no run has been evaluated yet");
  try {
    return Json{{"title", options.title}, {"panels", std::move(panels)}}.dump();
  } catch (const Json::exception&) {
    return invalid_argument("cannot draw curves: titles and labels must be UTF-8");
  }
}

Status plot_curves(const std::filesystem::path& folder, std::span<const RunRecord> records,
                   const FigureOptions& options, const data::ProgramRunner& run) {
  BALLAST_TRY(const std::string data, plot_data(records, options));
  return draw(folder, {.stem = options.stem, .script = embedded::kPlotCurvesScript, .data = data},
              run);
}

}  // namespace ballast::records
