#pragma once
// Whether a folder of results may take the runs of a specification: results that were made with
// other settings are never overwritten unawares.

#include <filesystem>
#include <set>
#include <string>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

// What tells two specifications apart, for people: "updates = 200 there, 100 here; seeds = ...". At
// most three differences are spelt out. Empty where the runs are the same.
std::string difference_of(const Spec& there, const Spec& here);

// Refuses a folder whose runs, finished or under way, are not all among those of the specification,
// given by their fingerprints: metrics, summary and pictures would lose the former, and the latter
// would begin anew. The error names the difference to the folder's spec.toml and the ways out. A
// folder that does not exist, is empty or holds a part of the runs is fine.
Status check_results_folder(const std::filesystem::path& folder, const Spec& spec,
                            const std::set<std::string>& fingerprints);

// Removes the records, models and checkpoints of the runs that do not belong to the specification.
Status remove_other_runs(const std::filesystem::path& folder,
                         const std::set<std::string>& fingerprints);

}  // namespace ballast::experiment
