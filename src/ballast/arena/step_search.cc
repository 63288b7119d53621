#include "ballast/arena/step_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/assembly/value.h"
#include "ballast/base/check.h"

namespace ballast::arena {
namespace {

double score_of(const records::RunRecord& record) {
  const bool is_whole = record.status == records::RunStatus::kFinished;
  return is_whole && !record.evaluations.empty() ? record.evaluations.back().test_accuracy : 0.0;
}

// The mean score of a curve's runs at a step size; nothing without such runs.
std::optional<double> mean_score(const std::string& curve, double eta,
                                 std::span<const experiment::PlannedRun> plan,
                                 std::span<const records::RunRecord> records) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].curve != curve || plan[i].run.eta != eta) continue;
    sum += score_of(records[i]);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace

Result<std::vector<FoundStep>> find_steps(std::span<const std::string> curves,
                                          std::span<const double> etas,
                                          std::span<const experiment::PlannedRun> plan,
                                          std::span<const records::RunRecord> records) {
  BALLAST_CHECK(plan.size() == records.size(), "one record per planned run");
  std::vector<FoundStep> steps;
  for (const std::string& curve : curves) {
    FoundStep step{.curve = curve};
    for (const double eta : etas) {
      const auto score = mean_score(curve, eta, plan, records);
      if (!score) {
        return invalid_argument(
            fmt::format("{} is left out of every panel of the search for step sizes",
                        assembly::to_printable(curve)));
      }
      const std::size_t place = step.scores.size();
      const bool is_better = place == 0 || *score > step.scores[step.place] ||
                             (*score == step.scores[step.place] && eta < step.eta);
      if (is_better) std::tie(step.place, step.eta) = std::pair(place, eta);
      step.scores.push_back(*score);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace ballast::arena
