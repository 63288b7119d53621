#pragma once
// From a seed that fails to a short story: the fewest events and disturbances, of those tried, with
// which the same checker fails.

#include <string>

#include "ballast/simulate/simulation.h"

namespace ballast::simulate {

struct Shrunk {
  SimulationOptions options;  // that repeat it
  SimulationReport report;    // with the trace
};

// Requires: `report` is that of the options, with a violation.
// Cost: some hundred simulations at most, each shorter than the first.
Shrunk shrink(const SimulationOptions& options, const SimulationReport& report,
              const ServerComponents& components = {});

// The command that repeats it.
std::string repeat_command(const SimulationOptions& options);

// For people: scenario, violation, command and the last lines of the trace.
std::string story(const Shrunk& shrunk, std::size_t lines_max);

}  // namespace ballast::simulate
