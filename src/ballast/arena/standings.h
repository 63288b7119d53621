#pragma once
// What a contest came to: every method under every attack in every world, and all of them against
// the recommended one.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/experiment/grid.h"
#include "ballast/records/paired_difference.h"
#include "ballast/records/records.h"
#include "ballast/records/summary.h"

namespace ballast::arena {

// One method under one attack in one world, over the seeds.
struct CellScore {
  std::map<std::uint64_t, double> accuracy_by_seed = {};  // in per cent, after the last update
  records::Spread accuracy = {};                          // of these
  std::size_t diverged = 0;                               // how many of the runs
  // To the recommended method in the same cell, seed by seed, in points.
  records::PairedDifference difference = {};

  // Whether the whole interval of the difference lies on one side of zero.
  bool is_ahead() const noexcept { return difference.low > 0.0; }
  bool is_behind() const noexcept { return difference.high < 0.0; }
};

struct MethodStanding {
  std::string method = {};
  std::vector<std::optional<CellScore>> cells = {};  // see Standings::cell; none: it is not run
  std::size_t run_cells = 0;                         // how many of them are
  double mean = 0.0;                                 // over its cells, in per cent
  double worst = 0.0;                                // the least of its cells
  std::size_t worst_cell = 0;
  // Of the means over the cells that both have, seed by seed, in points.
  records::PairedDifference difference = {};
  std::size_t ahead = 0, behind = 0;  // cells
  // Of the server and the simulator, beside the workers' gradients, per update: the median over the
  // runs without an attack, or over all runs. Measured.
  double milliseconds = 0.0;
};

struct Standings {
  std::vector<std::string> worlds = {};
  std::vector<std::string> attacks = {};
  std::vector<MethodStanding> methods = {};  // in the order of the specification
  std::size_t recommended = 0;               // its place among them
  std::size_t seed_count = 0;

  std::size_t cell(std::size_t world, std::size_t attack) const noexcept {
    return world * attacks.size() + attack;
  }
};

// Requires: a record with an evaluation for each planned run, in the same order; some run of the
// recommended curve.
Standings make_standings(std::span<const experiment::PlannedRun> plan,
                         std::span<const records::RunRecord> records,
                         const std::string& recommended);

// The labels of the `count` best methods, the recommended one first and always among them; the
// others by their worst case, of equal ones by their mean, those that are run in fewer cells last.
std::vector<std::string> best_methods(const Standings& standings, std::size_t count);

}  // namespace ballast::arena
