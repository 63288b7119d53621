#include "ballast/records/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/files/text_file.h"
#include "ballast/records/curve_groups.h"

namespace ballast::records {
namespace {

CurveSummary summarise_curve(const CurveGroup& group) {
  CurveSummary summary{.panel = group.panel, .curve = group.curve};
  std::vector<double> finals;
  double updates = 0.0;
  double seconds = 0.0;
  for (const RunRecord* run : group.runs) {
    const EvaluationRecord& last = run->evaluations.back();
    summary.seeds.push_back(run->seed);
    summary.t = finals.empty() ? last.t : std::min(summary.t, last.t);
    finals.push_back(last.test_accuracy);
    updates += static_cast<double>(last.t);
    seconds += run->total_seconds;
    for (const EvaluationRecord& evaluation : run->evaluations) {
      summary.best_accuracy = std::max(summary.best_accuracy, evaluation.test_accuracy);
    }
    if (run->status == RunStatus::kDiverged) ++summary.diverged;
    if (run->status == RunStatus::kInterrupted) ++summary.interrupted;
  }
  summary.final_accuracy = spread_of(finals);
  summary.seconds = seconds / static_cast<double>(finals.size());
  summary.updates_per_second = seconds > 0.0 ? updates / seconds : 0.0;
  return summary;
}

nlohmann::ordered_json to_json(const CurveSummary& summary) {
  const Spread& accuracy = summary.final_accuracy;
  return {{"panel", summary.panel},
          {"curve", summary.curve},
          {"seeds", summary.seeds},
          {"final_accuracy",
           {{"mean", accuracy.mean},
            {"deviation", accuracy.deviation},
            {"min", accuracy.min},
            {"max", accuracy.max}}},
          {"best_accuracy", summary.best_accuracy},
          {"t", summary.t},
          {"seconds", summary.seconds},
          {"updates_per_second", summary.updates_per_second},
          {"diverged", summary.diverged},
          {"interrupted", summary.interrupted}};
}

}  // namespace

Spread spread_of(std::span<const double> values) {
  BALLAST_CHECK(!values.empty(), "a spread of nothing");
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean,
          .deviation = values.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0,
          .min = std::ranges::min(values),
          .max = std::ranges::max(values)};
}

std::vector<CurveSummary> summarise(std::span<const RunRecord> records) {
  std::vector<CurveSummary> summaries;
  for (const CurveGroup& group : curve_groups(records)) {
    summaries.push_back(summarise_curve(group));
  }
  return summaries;
}

Result<std::string> summary_json(std::span<const RunRecord> records) {
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  for (const CurveSummary& summary : summarise(records)) curves.push_back(to_json(summary));
  try {
    return nlohmann::ordered_json{{"curves", std::move(curves)}}.dump(2) + "\n";
  } catch (const nlohmann::ordered_json::exception&) {
    return invalid_argument("the names of panels and curves must be UTF-8");
  }
}

Result<std::string> summary_lines(std::span<const RunRecord> records) {
  std::string text;
  try {
    for (const CurveSummary& summary : summarise(records)) text += to_json(summary).dump() + "\n";
  } catch (const nlohmann::ordered_json::exception&) {
    return invalid_argument("the names of panels and curves must be UTF-8");
  }
  return text;
}

Status write_summary(const std::filesystem::path& path, std::span<const RunRecord> records) {
  BALLAST_TRY(const std::string text, summary_json(records));
  return files::write_text(path, text);
}

}  // namespace ballast::records
