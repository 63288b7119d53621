#pragma once
// The whole server and its workers in virtual time, from one seed: the deployed admission, method,
// optimizer, exchange, journal and checkpoints, on a simulated network and a simulated disk, with
// honest and hostile workers, an operator, and everything that goes wrong. docs/simulation.md.
//
// Determinism: a report is a function of the options and the components, whatever the machine.
// Thread-safety: simulations share nothing; each runs on the thread that calls.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ballast/simulate/account.h"
#include "ballast/simulate/components.h"
#include "ballast/simulate/scenario.h"

namespace ballast::simulate {

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t events = 2000;
  std::string method = {};  // in place of the one that the seed draws; empty: that
  // The disturbances that happen, by number; none: all of them.
  std::optional<std::vector<std::size_t>> only = {};
  bool keeps_trace = false;
};

struct SimulationReport {
  Scenario scenario;
  std::vector<std::size_t> happened;  // disturbances, by number
  std::optional<Violation> violation;
  std::uint64_t events = 0;  // until the violation, or the end of the calm after the last event
  Instant time{};            // that was simulated
  std::uint64_t hash = 0;    // of all that happened
  std::uint64_t accepted = 0, steps = 0, lives = 0, checkpoints = 0;
  std::vector<std::string> trace;  // a line for each thing that happened
};

SimulationReport simulate(const SimulationOptions& options,
                          const ServerComponents& components = {});

}  // namespace ballast::simulate
