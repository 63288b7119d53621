#include "ballast/records/plot.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/data/temporary_folder.h"
#include "ballast/files/text_file.h"
#include "ballast/records/curve_groups.h"
#include "ballast/records/summary.h"

namespace ballast::embedded {

extern const std::string_view kPlotCurvesScript;

}  // namespace ballast::embedded

namespace ballast::records {
namespace {

using Json = nlohmann::ordered_json;

// The first python3 on the PATH need not be the one that has matplotlib.
constexpr std::string_view kInterpreters[] = {"python3", "/usr/bin/python3"};
constexpr std::chrono::minutes kTimeLimit{3};

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

// Runs the script in the folder, where it finds its data and leaves its pictures.
Status run_script(const std::filesystem::path& folder, const data::ProgramRunner& run) {
  Status first_failure;
  for (const std::string_view interpreter : kInterpreters) {
    Status status = run({.arguments = {std::string(interpreter), "script.py", "data.json", "plot"},
                         .folder = folder,
                         .time_limit = kTimeLimit});
    if (status) return {};
    if (first_failure) first_failure = std::move(status);
  }
  return unsupported(fmt::format("cannot draw the curves: {}; install python3-matplotlib",
                                 first_failure.error().message));
}

Status move_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code failure;
  std::filesystem::rename(from, to, failure);
  if (failure) return io_error(fmt::format("{}: {}", to.string(), failure.message()));
  return {};
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
  BALLAST_TRY_STATUS(files::make_folder(folder));
  // Inside the target, so that the pictures need not cross file systems.
  BALLAST_TRY(const auto workshop, data::TemporaryFolder::create(folder));
  BALLAST_TRY_STATUS(files::write_text(workshop.path() / "data.json", data));
  BALLAST_TRY_STATUS(files::write_text(workshop.path() / "script.py", embedded::kPlotCurvesScript));
  BALLAST_TRY_STATUS(run_script(workshop.path(), run));
  for (const char* extension : {".png", ".svg"}) {
    BALLAST_TRY_STATUS(move_file(workshop.path() / (std::string("plot") + extension),
                                 folder / (options.stem + extension)));
  }
  return {};
}

}  // namespace ballast::records
