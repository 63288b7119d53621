#pragma once
// Which step size each method gets: the one that did best on samples held out of the training set.

#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/grid.h"
#include "ballast/records/records.h"

namespace ballast::arena {

// What the search found for one curve.
struct FoundStep {
  std::string curve;
  double eta = 0.0;
  std::size_t place = 0;            // of it in the list of step sizes
  std::vector<double> scores = {};  // of each step size, in the order of the list
};

// The score of a step size is the mean of the final accuracies over all runs of the search with it;
// a run that diverged counts as 0. The best score wins, and of equal ones the smaller step size.
// A curve that no run of the search has is refused. Curves come in the order of the plan.
//
// Requires: a record for each planned run, in the same order.
Result<std::vector<FoundStep>> find_steps(std::span<const std::string> curves,
                                          std::span<const double> etas,
                                          std::span<const experiment::PlannedRun> plan,
                                          std::span<const records::RunRecord> records);

}  // namespace ballast::arena
