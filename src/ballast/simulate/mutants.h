#pragma once
// Servers with a planted defect, which the checkers must find: what the checkers are worth.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/simulate/components.h"
#include "ballast/simulate/simulation.h"

namespace ballast::simulate {

struct DefectMutant {
  std::string_view name;
  std::string_view defect;
  ServerComponents components = {};
};

// Findings of the review of 0.1.0, planted back, and others.
std::vector<DefectMutant> defect_mutants();

struct MutantFinding {
  std::string_view name, defect;
  std::uint64_t seeds = 0;             // that it took
  std::optional<Violation> violation;  // none: the mutant survives
};

// Tries seeds 1, 2, ... until a checker finds something.
MutantFinding find_mutant_violation(const DefectMutant& mutant, std::uint64_t seeds_max,
                                    std::uint64_t events);

// A Markdown table: mutant, defect, checker, seeds.
std::string finding_table(std::span<const MutantFinding> findings);

}  // namespace ballast::simulate
