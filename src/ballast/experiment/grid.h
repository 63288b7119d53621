#pragma once
// The runs of a specification: grid x curves x seeds.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/run_spec.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

// More runs than this is a grid that nobody meant.
inline constexpr std::size_t kRunsMax = 10'000;

struct PlannedRun {
  RunSpec run;  // resolved and valid
  std::uint64_t seed = 0;
  // Short, different from all others, and good as the name of a file: the curve's label, the grid's
  // values and the seed. Depends on the specification only.
  std::string name;
  std::string panel;  // the grid's part, "attack = sign-flip, share = 0.4"; empty without a grid
  std::string curve;  // its label; empty without curves

  bool operator==(const PlannedRun&) const = default;
};

// Every run, in this order: the first axis of the grid varies slowest, then the later ones, then
// the curves, then the seeds. Refuses the whole specification if one run is not valid or one of its
// files does not exist.
Result<std::vector<PlannedRun>> expand(const Spec& spec);

// What a run depends on, as 16 hexadecimal digits: equal for equal values of all keys and the seed.
// The content of files is not part of it. Stable between machines and versions, as long as no key
// is added.
std::string fingerprint(const RunSpec& run, std::uint64_t seed);

}  // namespace ballast::experiment
