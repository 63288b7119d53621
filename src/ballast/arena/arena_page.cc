#include "ballast/arena/arena_page.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ballast/experiment/claims.h"

namespace ballast::arena {
namespace {

using records::ReportSection;
using records::ReportTable;

constexpr std::string_view kDash = "\xE2\x80\x93";
// With one seed nothing is decided; a lead of less than this is not even worth a line.
constexpr double kLeadShown = 1.0;

constexpr std::string_view kNumbers =
    "Numbers are test accuracy in per cent after the last update: means over the seeds, with the "
    "standard deviation where there are several. Every method meets the same workers, batches, "
    "arrivals and lies of a seed, and gets the same number of updates, whether it uses or refuses "
    "them; on a virtual clock that is also the same time, because arrivals do not depend on the "
    "method. A cell is one method under one attack in one world.";

constexpr std::string_view kSearch =
    "Each method has the step size that did best on samples held out of the training set, from "
    "one list for all; the test set had no part in it. Everything else is as in the method's "
    "paper, or as docs/methods.md says.";

constexpr std::string_view kPaired =
    "Compared with the recommended setting seed by seed: the mean difference in points and, in "
    "brackets, Student's 95 % interval. A method is ahead, or behind, in a cell where the whole "
    "interval is above, or below, zero.";

constexpr std::string_view kOneSeed =
    "There is one seed, which decides nothing: differences of a point or two mean little.";

constexpr std::string_view kShort =
    "This is not the full arena but its size \"{}\": shorter runs, fewer worlds, attacks or seeds, "
    "as said below, equally for all methods. Methods that take a step at every update gain from "
    "short runs on methods that wait for several.";

std::string label_at(const Standings& standings, std::size_t cell) {
  return fmt::format("{}, {}", standings.attacks[cell % standings.attacks.size()],
                     standings.worlds[cell / standings.attacks.size()]);
}

std::string accuracy_text(const std::optional<CellScore>& cell) {
  if (!cell) return std::string(kDash);
  std::string text = fmt::format("{:.1f}", cell->accuracy.mean);
  if (cell->accuracy_by_seed.size() > 1) {
    text += fmt::format(" \xC2\xB1 {:.1f}", cell->accuracy.deviation);
  }
  if (cell->diverged > 0) text += " (diverged)";
  return text;
}

double worst_of(const MethodStanding& standing, const std::vector<std::size_t>& cells) {
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t i : cells) {
    if (standing.cells[i]) worst = std::fmin(worst, standing.cells[i]->accuracy.mean);
  }
  return worst;
}

std::vector<std::size_t> cells_of_world(const Standings& standings, std::size_t world) {
  std::vector<std::size_t> cells;
  for (std::size_t a = 0; a < standings.attacks.size(); ++a) {
    cells.push_back(standings.cell(world, a));
  }
  return cells;
}

// For each attack the worst of the worlds, then the worst of all.
records::HeatMap heat_map(const Standings& standings, std::string title,
                          const std::vector<std::size_t>& worlds) {
  records::HeatMap map{
      .title = std::move(title), .columns = standings.attacks, .values = {}, .set_apart = 1};
  map.columns.emplace_back("worst");
  for (const MethodStanding& standing : standings.methods) {
    std::vector<double> row;
    std::vector<std::size_t> all;
    for (std::size_t a = 0; a < standings.attacks.size(); ++a) {
      std::vector<std::size_t> cells;
      cells.reserve(worlds.size());
      for (const std::size_t world : worlds) cells.push_back(standings.cell(world, a));
      all.insert(all.end(), cells.begin(), cells.end());
      row.push_back(worst_of(standing, cells));
    }
    row.push_back(worst_of(standing, all));
    map.rows.push_back(standing.method);
    map.values.push_back(std::move(row));
  }
  return map;
}

std::string stem_of(const ContestResult& result, HeatMapKind kind) {
  return result.contest.spec.name + (kind == HeatMapKind::kWorst ? "-worst" : "-worlds");
}

void add_picture(ReportSection& section, const ContestResult& result, HeatMapKind kind) {
  const std::string stem = stem_of(result, kind);
  const auto found = result.pictures.find(stem);
  if (found == result.pictures.end()) return;
  section.svg = found->second;
  section.picture = fmt::format("images/{}.svg", stem);
}

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

ReportSection introduction(const PageOptions& options) {
  ReportSection section;
  if (options.command.empty()) return section;
  section.paragraphs.push_back(fmt::format("Made by {} with", options.program));
  section.commands = options.command;
  return section;
}

ReportSection how_to_read(const PageOptions& options, bool has_one_seed) {
  ReportSection section{.heading = "How to read it"};
  if (options.size != kFullSize) {
    section.paragraphs.push_back(fmt::format(fmt::runtime(kShort), options.size));
  }
  section.paragraphs.emplace_back(kNumbers);
  section.paragraphs.emplace_back(kSearch);
  section.paragraphs.emplace_back(has_one_seed ? kOneSeed : kPaired);
  return section;
}

std::string needs_of(const ContestResult& result, const std::string& method) {
  const auto& curves = result.contest.spec.curves;
  const auto found = std::ranges::find(curves, method, &experiment::Variant::label);
  return found == curves.end() || found->needs.empty() ? std::string(kDash) : found->needs;
}

ReportSection in_short(const ContestResult& result) {
  const Standings& standings = result.standings;
  const std::size_t cells = standings.worlds.size() * standings.attacks.size();
  ReportTable table{.columns = {"method", "must be told", "mean", "worst", "worst in",
                                "mean against recommended", "ahead / behind"},
                    .rows = {}};
  for (const MethodStanding& standing : standings.methods) {
    const bool is_recommended = &standing == &standings.methods[standings.recommended];
    std::string place = label_at(standings, standing.worst_cell);
    if (standing.run_cells < cells) {
      place += fmt::format(" (run in {} of {} cells)", standing.run_cells, cells);
    }
    table.rows.push_back(
        {standing.method, needs_of(result, standing.method), fmt::format("{:.1f}", standing.mean),
         fmt::format("{:.1f}", standing.worst), std::move(place),
         is_recommended ? std::string(kDash) : experiment::difference_text(standing.difference),
         is_recommended || standings.seed_count == 1
             ? std::string(kDash)
             : fmt::format("{} / {}", standing.ahead, standing.behind)});
  }
  ReportSection section{.heading = fmt::format("{} in short", result.contest.title),
                        .table = std::move(table),
                        .caption = "For each method and attack, the worst of all worlds"};
  section.paragraphs.push_back(
      fmt::format("{}, {}, {} updates, {}.", counted(standings.worlds.size(), "world"),
                  counted(standings.attacks.size(), "attack"), result.contest.spec.base.updates,
                  counted(standings.seed_count, "seed")));
  add_picture(section, result, HeatMapKind::kWorst);
  return section;
}

// "shared" as people say it.
std::string partition_text(const assembly::RunSpec& run) {
  switch (run.partition) {
    case assembly::PartitionKind::kShared:
      return "every worker draws from the whole training set";
    case assembly::PartitionKind::kEven:
      return "the training set is split evenly among the workers";
    case assembly::PartitionKind::kDirichlet:
      return fmt::format("each class is split among the workers by Dirichlet({})",
                         run.dirichlet_alpha);
    case assembly::PartitionKind::kShards:
      return fmt::format("the training set is sorted by class and dealt out in {} shards a worker",
                         run.shards_per_worker);
  }
  return "";
}

std::string world_text(const ContestWorld& world) {
  const assembly::RunSpec& run = world.run;
  std::string text = fmt::format(
      "{} workers, {} of them Byzantine with a share of {} of the updates; arrivals {}; {}.",
      run.workers, run.byzantine, experiment::share_text(run.share), run.arrivals,
      partition_text(run));
  if (world.virtual_seconds) {
    text += fmt::format(
        " On a virtual clock, compute times {}: the {} updates take {:.1f} virtual seconds (first "
        "seed), a worker of speed 1 needing one second for an update on average.",
        run.compute_time, run.updates, *world.virtual_seconds);
  }
  return text;
}

template <typename Text>
ReportTable table_of(const Standings& standings, std::size_t world, const Text& text) {
  ReportTable table{.columns = {"method"}, .rows = {}};
  for (const std::string& attack : standings.attacks) table.columns.push_back(attack);
  for (const MethodStanding& standing : standings.methods) {
    std::vector<std::string> row = {standing.method};
    for (const std::size_t cell : cells_of_world(standings, world)) {
      row.push_back(text(standing, standing.cells[cell]));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_worlds(records::ReportPage& page, const ContestResult& result) {
  const Standings& standings = result.standings;
  ReportSection pictures{.heading = fmt::format("{}, world by world", result.contest.title),
                         .caption = "For each world, method and attack the mean over the seeds"};
  add_picture(pictures, result, HeatMapKind::kWorlds);
  page.sections.push_back(std::move(pictures));
  for (std::size_t w = 0; w < standings.worlds.size(); ++w) {
    page.sections.push_back(
        {.heading = fmt::format("{}: {}", result.contest.title, standings.worlds[w]),
         .paragraphs = {world_text(result.worlds[w])},
         .table = table_of(standings, w, [](const MethodStanding&, const auto& cell) {
           return accuracy_text(cell);
         })});
    if (standings.seed_count == 1) continue;
    page.sections.push_back(
        {.paragraphs = {"The same against the recommended setting, in points:"},
         .table = table_of(standings, w, [](const MethodStanding&, const auto& cell) {
           return cell ? experiment::difference_text(cell->difference) : std::string(kDash);
         })});
  }
}

// Every cell in which a method is ahead of the recommended one.
ReportSection rivals_ahead(const ContestResult& result) {
  const Standings& standings = result.standings;
  const bool has_one_seed = standings.seed_count == 1;
  ReportTable table{.columns = {"method", "attack", "world", "accuracy", "recommended", "ahead by"},
                    .rows = {}};
  const MethodStanding& recommended = standings.methods[standings.recommended];
  for (const MethodStanding& standing : standings.methods) {
    for (std::size_t i = 0; i < standing.cells.size(); ++i) {
      const auto& cell = standing.cells[i];
      if (!cell || &standing == &recommended) continue;
      if (has_one_seed ? cell->difference.mean < kLeadShown : !cell->is_ahead()) continue;
      table.rows.push_back({standing.method, standings.attacks[i % standings.attacks.size()],
                            standings.worlds[i / standings.attacks.size()], accuracy_text(cell),
                            accuracy_text(recommended.cells[i]),
                            experiment::difference_text(cell->difference)});
    }
  }
  ReportSection section{.heading =
                            fmt::format("{}: where another is ahead of the recommended setting",
                                        result.contest.title)};
  if (table.rows.empty()) {
    section.paragraphs.emplace_back("Nowhere.");
    return section;
  }
  if (has_one_seed) {
    section.paragraphs.push_back(fmt::format("By at least {} point.", kLeadShown));
  }
  section.table = std::move(table);
  return section;
}

ReportSection step_sizes(const ContestResult& result) {
  const StepSearch& search = result.contest.search;
  ReportTable table{.columns = {"method"}, .rows = {}};
  for (const double eta : search.etas) table.columns.push_back(fmt::format("{}", eta));
  table.columns.emplace_back("taken");
  for (const FoundStep& step : result.steps) {
    std::vector<std::string> row = {step.curve};
    for (const double score : step.scores) row.push_back(fmt::format("{:.1f}", 100.0 * score));
    const auto [low, high] = std::ranges::minmax(search.etas);
    const bool is_at_the_end = search.etas.size() > 1 && (step.eta == low || step.eta == high);
    row.push_back(fmt::format("{}{}", step.eta, is_at_the_end ? " (end of the list)" : ""));
    table.rows.push_back(std::move(row));
  }
  return {.heading = fmt::format("{}: the search for step sizes", result.contest.title),
          .paragraphs = {fmt::format(
              "Accuracy in per cent on {} samples of the training set that no worker drew, mean "
              "over the attacks {} in: {}; {} updates, seeds {}. A run that diverged counts as 0.",
              search.validation_samples, fmt::join(search.attacks, ", "),
              fmt::join(search.panels, "; "), result.contest.spec.base.updates,
              fmt::join(search.seeds, ", "))},
          .table = std::move(table)};
}

ReportSection left_out(const ContestResult& result) {
  ReportTable table{.columns = {"method", "world", "why"}, .rows = {}};
  for (const NotRun& one : result.not_run) {
    table.rows.push_back({one.method, one.world, one.reason});
  }
  return {.heading = fmt::format("{}: what cannot be run", result.contest.title),
          .table = std::move(table)};
}

ReportSection costs(std::span<const ContestResult> results) {
  ReportTable table{.columns = {"contest", "method", "ms per update"}, .rows = {}};
  for (const ContestResult& result : results) {
    for (const MethodStanding& standing : result.standings.methods) {
      table.rows.push_back(
          {result.contest.title, standing.method, fmt::format("{:.2f}", standing.milliseconds)});
    }
  }
  return {.heading = std::string(kCostHeading),
          .paragraphs = {"Measured in the runs above without an attack, the median: time of the "
                         "server and of the simulator around it per update, on one thread, beside "
                         "the workers' gradients. asgd, where it takes part, does next to nothing "
                         "itself, so what it shows is the price of everything else. The machine "
                         "was busy with other runs: the ratios say more than the numbers."},
          .table = std::move(table)};
}

}  // namespace

records::HeatMapPicture heat_maps(const ContestResult& result, HeatMapKind kind) {
  const Standings& standings = result.standings;
  records::HeatMapPicture picture{.stem = stem_of(result, kind)};
  std::vector<std::size_t> all;
  for (std::size_t w = 0; w < standings.worlds.size(); ++w) {
    all.push_back(w);
    if (kind == HeatMapKind::kWorlds) {
      picture.maps.push_back(heat_map(
          standings, fmt::format("{}: {}", result.contest.title, standings.worlds[w]), {w}));
    }
  }
  if (kind == HeatMapKind::kWorst) {
    picture.maps.push_back(
        heat_map(standings,
                 fmt::format("{}: the worst of {} worlds", result.contest.title, all.size()), all));
  }
  return picture;
}

records::ReportPage make_page(std::span<const ContestResult> results, const PageOptions& options) {
  const bool has_one_seed = std::ranges::any_of(
      results, [](const ContestResult& result) { return result.standings.seed_count == 1; });
  records::ReportPage page{.title = "The arena"};
  if (options.size != kFullSize) page.title += fmt::format(" ({})", options.size);
  page.sections = {introduction(options), how_to_read(options, has_one_seed)};
  for (const ContestResult& result : results) {
    page.sections.push_back(in_short(result));
    page.sections.push_back(rivals_ahead(result));
    add_worlds(page, result);
    if (!result.not_run.empty()) page.sections.push_back(left_out(result));
    page.sections.push_back(step_sizes(result));
  }
  page.sections.push_back(costs(results));
  return page;
}

}  // namespace ballast::arena
