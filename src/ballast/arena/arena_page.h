#pragma once
// The page of the arena: heat maps, tables, paired tests, step sizes, costs.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ballast/arena/contest_spec.h"
#include "ballast/arena/standings.h"
#include "ballast/arena/step_search.h"
#include "ballast/assembly/run_spec.h"
#include "ballast/records/heat_map.h"
#include "ballast/records/html_report.h"

namespace ballast::arena {

// A panel of the contest, and one of its runs.
struct ContestWorld {
  std::string label;
  assembly::RunSpec run = {};
  std::optional<double> virtual_seconds = {};  // how long its updates take, with a virtual clock
};

// A method in a world that it cannot be run in.
struct NotRun {
  std::string method;
  std::string world;
  std::string reason;
};

struct ContestResult {
  ContestSpec contest;  // with the curves that took part
  std::vector<ContestWorld> worlds = {};
  std::vector<FoundStep> steps = {};
  Standings standings = {};
  std::vector<NotRun> not_run = {};
  std::map<std::string, std::string> pictures = {};  // SVG by stem; empty where none was drawn
};

// The worst of all worlds for each method and attack, or each world by itself. Either has the worst
// of each line in its last column.
enum class HeatMapKind { kWorst, kWorlds };
records::HeatMapPicture heat_maps(const ContestResult& result, HeatMapKind kind);

struct PageOptions {
  std::string size = std::string(kFullSize);
  std::string command = {};
  std::string program = {};
};

// The title of the last section. What stands before it depends on program, specification and seeds
// alone; the costs are measured.
inline constexpr std::string_view kCostHeading = "Cost per update";

records::ReportPage make_page(std::span<const ContestResult> results, const PageOptions& options);

}  // namespace ballast::arena
