// The picture of the explanations, declared in plot.h.

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/records/curve_groups.h"
#include "ballast/records/drawing.h"
#include "ballast/records/plot.h"

namespace ballast::embedded {

extern const std::string_view kPlotWhyScript;

}  // namespace ballast::embedded

namespace ballast::records {
namespace {

using Json = nlohmann::ordered_json;

struct Measure {
  std::string_view name;  // of an ExplanationField
  double Explanation::*member;
  std::string_view label;
};
constexpr std::array<Measure, 4> kMeasures = {{
    {"byzantine_kept", &Explanation::byzantine_kept, "Byzantine share\nof kept weight"},
    {"byzantine_in_gm", &Explanation::byzantine_in_gm,
     "Byzantine coefficients\nin the geometric median"},
    {"direction_cosine", &Explanation::direction_cosine, "cosine to\nthe honest mean"},
    {"direction_distance", &Explanation::direction_distance,
     "distance to the honest\nmean, over its noise"},
}};

// The mean over the seeds that were explained at each t; null where none is a number.
Json means_of(const CurveGroup& group, double Explanation::*member) {
  std::map<std::uint64_t, std::pair<double, double>> sums;
  for (const RunRecord* run : group.runs) {
    for (const EvaluationRecord& evaluation : run->evaluations) {
      auto& [sum, count] = sums[evaluation.t];
      if (!evaluation.why || std::isnan((*evaluation.why).*member)) continue;
      sum += (*evaluation.why).*member;
      count += 1.0;
    }
  }
  Json means = Json::array();
  for (const auto& [t, sum] : sums) {
    means.push_back(sum.second > 0.0 ? Json(sum.first / sum.second) : Json());
  }
  return means;
}

Json curve_json(const CurveGroup& group) {
  std::map<std::uint64_t, bool> times;
  for (const RunRecord* run : group.runs) {
    for (const EvaluationRecord& evaluation : run->evaluations) times[evaluation.t] = true;
  }
  Json curve = {{"label", group.curve}, {"t", Json::array()}, {"means", Json::object()}};
  for (const auto& [t, is_there] : times) curve["t"].push_back(t);
  for (const Measure& measure : kMeasures) {
    curve["means"][std::string(measure.name)] = means_of(group, measure.member);
  }
  return curve;
}

}  // namespace

Result<std::string> why_data(std::span<const RunRecord> records, const FigureOptions& options) {
  Json panels = Json::array();
  for (const CurveGroup& group : curve_groups(records)) {
    if (panels.empty() || panels.back()["title"] != group.panel) {
      panels.push_back({{"title", group.panel}, {"curves", Json::array()}});
    }
    panels.back()["curves"].push_back(curve_json(group));
  }
  if (panels.empty()) return invalid_argument("cannot draw: no run has been evaluated yet");
  Json measures = Json::array();
  for (const Measure& measure : kMeasures) {
    measures.push_back({{"name", measure.name}, {"label", measure.label}});
  }
  try {
    return Json{{"title", options.title}, {"measures", measures}, {"panels", std::move(panels)}}
        .dump();
  } catch (const Json::exception&) {
    return invalid_argument("cannot draw: titles and labels must be UTF-8");
  }
}

Status plot_why(const std::filesystem::path& folder, std::span<const RunRecord> records,
                const FigureOptions& options, const data::ProgramRunner& run) {
  BALLAST_TRY(const std::string data, why_data(records, options));
  return draw(folder, {.stem = options.stem, .script = embedded::kPlotWhyScript, .data = data},
              run);
}

}  // namespace ballast::records
