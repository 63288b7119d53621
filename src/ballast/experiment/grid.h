#pragma once
// The runs of a specification: panels x grid x curves x seeds.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ballast/assembly/run_spec.h"
#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

// More runs than this is a grid that nobody meant.
inline constexpr std::size_t kRunsMax = 10'000;

struct PlannedRun {
  assembly::RunSpec run;  // resolved and valid
  std::uint64_t seed = 0;
  // Short, shared only with the same run under other seeds, and good as the name of a file: the
  // labels of curve and panel and the grid's values, or else the specification's name. Depends on
  // the specification only.
  std::string name;
  // The panel's label and the grid's part, "fast liar, attack = sign-flip"; empty without both.
  std::string panel;
  std::string curve;  // its label; empty without curves
  // The keys that grid, panels and curves set, in their order, with their values in this run.
  std::vector<std::pair<std::string, std::string>> settings = {};
  double stated_share =
      0.0;  // what the panel states; where it states nothing, the share of the run
  std::string panel_label = {};  // without the grid's part

  bool operator==(const PlannedRun&) const = default;
};

// Every run, in this order: the panels vary slowest, then the first axis of the grid, then the
// later ones, then the curves, then the seeds. Refuses the whole specification if one run is not
// valid or one of its files does not exist.
Result<std::vector<PlannedRun>> expand(const Spec& spec);

// What a run depends on, as 16 hexadecimal digits: equal for equal values of all keys and the seed.
// The content of files is not part of it. Stable between machines and versions, as long as no key
// is added.
std::string fingerprint(const assembly::RunSpec& run, std::uint64_t seed);

}  // namespace ballast::experiment
