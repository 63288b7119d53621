#include "ballast/arena/standings.h"

#include <algorithm>
#include <tuple>

#include "ballast/base/check.h"

namespace ballast::arena {
namespace {

constexpr std::string_view kNoAttack = "none";

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

// What is left of the training time when the workers' gradients are taken off.
double milliseconds_of(const records::RunRecord& record) {
  const records::EvaluationRecord& last = record.evaluations.back();
  if (last.t == 0) return 0.0;
  const double seconds = std::max(0.0, last.seconds - record.gradient_seconds);
  return 1000.0 * seconds / static_cast<double>(last.t);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

void add(CellScore& cell, const records::RunRecord& record) {
  cell.accuracy_by_seed[record.seed] = 100.0 * record.evaluations.back().test_accuracy;
  if (record.status == records::RunStatus::kDiverged) ++cell.diverged;
}

void summarise_cell(CellScore& cell) {
  std::vector<double> values;
  for (const auto& [seed, accuracy] : cell.accuracy_by_seed) values.push_back(accuracy);
  cell.accuracy = records::spread_of(values);
}

void summarise_method(MethodStanding& standing) {
  double sum = 0.0;
  for (std::size_t i = 0; i < standing.cells.size(); ++i) {
    if (!standing.cells[i]) continue;
    const double mean = standing.cells[i]->accuracy.mean;
    if (standing.run_cells == 0 || mean < standing.worst) {
      standing.worst = mean;
      standing.worst_cell = i;
    }
    sum += mean;
    ++standing.run_cells;
  }
  if (standing.run_cells > 0) standing.mean = sum / static_cast<double>(standing.run_cells);
}

// A mean over some cells while it is added up.
struct Sum {
  double value = 0.0;
  std::size_t count = 0;
};

void compare(MethodStanding& standing, const MethodStanding& with) {
  std::map<std::uint64_t, Sum> by_seed;
  for (std::size_t i = 0; i < standing.cells.size(); ++i) {
    auto& cell = standing.cells[i];
    if (!cell || !with.cells[i]) continue;
    std::vector<double> differences;
    for (const auto& [seed, accuracy] : cell->accuracy_by_seed) {
      const auto other = with.cells[i]->accuracy_by_seed.find(seed);
      if (other == with.cells[i]->accuracy_by_seed.end()) continue;
      differences.push_back(accuracy - other->second);
      by_seed[seed].value += differences.back();
      ++by_seed[seed].count;
    }
    cell->difference = records::paired_difference(differences);
    standing.ahead += cell->is_ahead() ? 1 : 0;
    standing.behind += cell->is_behind() ? 1 : 0;
  }
  std::vector<double> means;
  means.reserve(by_seed.size());
  for (const auto& [seed, sum] : by_seed) {
    means.push_back(sum.value / static_cast<double>(sum.count));
  }
  standing.difference = records::paired_difference(means);
}

double cost_of(const std::string& method, std::span<const experiment::PlannedRun> plan,
               std::span<const records::RunRecord> records) {
  std::vector<double> quiet, all;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].curve != method) continue;
    all.push_back(milliseconds_of(records[i]));
    if (plan[i].run.attack == kNoAttack) quiet.push_back(all.back());
  }
  return median(quiet.empty() ? all : quiet);
}

// The names of worlds, attacks and methods in the order of the plan, with empty cells.
Standings frame_of(std::span<const experiment::PlannedRun> plan) {
  Standings standings;
  std::vector<std::string> methods, seeds;
  for (const experiment::PlannedRun& planned : plan) {
    place_of(standings.worlds, planned.panel_label);
    place_of(standings.attacks, planned.run.attack);
    place_of(methods, planned.curve);
    place_of(seeds, std::to_string(planned.seed));
  }
  standings.seed_count = seeds.size();
  const std::size_t cells = standings.worlds.size() * standings.attacks.size();
  for (const std::string& method : methods) {
    standings.methods.push_back({.method = method});
    standings.methods.back().cells.resize(cells);
  }
  return standings;
}

}  // namespace

Standings make_standings(std::span<const experiment::PlannedRun> plan,
                         std::span<const records::RunRecord> records,
                         const std::string& recommended) {
  BALLAST_CHECK(plan.size() == records.size(), "one record per planned run");
  Standings standings = frame_of(plan);
  const auto place = [&](const std::string& method) {
    const auto found = std::ranges::find(standings.methods, method, &MethodStanding::method);
    BALLAST_CHECK(found != standings.methods.end(), "the method has a run");
    return static_cast<std::size_t>(found - standings.methods.begin());
  };
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::size_t cell = standings.cell(place_of(standings.worlds, plan[i].panel_label),
                                            place_of(standings.attacks, plan[i].run.attack));
    auto& score = standings.methods[place(plan[i].curve)].cells[cell];
    if (!score) score.emplace();
    add(*score, records[i]);
  }
  for (MethodStanding& standing : standings.methods) {
    for (auto& cell : standing.cells) {
      if (cell) summarise_cell(*cell);
    }
    summarise_method(standing);
    standing.milliseconds = cost_of(standing.method, plan, records);
  }
  standings.recommended = place(recommended);
  const MethodStanding with = standings.methods[standings.recommended];
  for (MethodStanding& standing : standings.methods) compare(standing, with);
  return standings;
}

std::vector<std::string> best_methods(const Standings& standings, std::size_t count) {
  const MethodStanding& recommended = standings.methods[standings.recommended];
  std::vector<const MethodStanding*> others;
  for (const MethodStanding& standing : standings.methods) {
    if (&standing != &recommended) others.push_back(&standing);
  }
  std::ranges::stable_sort(others, [](const MethodStanding* left, const MethodStanding* right) {
    return std::tuple(left->run_cells, left->worst, left->mean) >
           std::tuple(right->run_cells, right->worst, right->mean);
  });
  std::vector<std::string> best = {recommended.method};
  for (const MethodStanding* standing : others) {
    if (best.size() < count) best.push_back(standing->method);
  }
  return best;
}

}  // namespace ballast::arena
