#pragma once
// A specification as server and workers of a network share it: one run, its data, its model.

#include <cstdint>
#include <string>
#include <vector>

#include "ballast/assembly/materials.h"
#include "ballast/base/error.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"
#include "ballast/transport/identify.h"

namespace ballast::service {

// Seconds since 1970, by the clock of the machine.
using transport::WallClock;

struct Plan {
  experiment::PlannedRun planned;
  assembly::Material material;
  std::uint64_t schema_hash = 0;  // of the model's tensors

  const assembly::RunSpec& run() const noexcept { return planned.run; }
};

// The one run of a specification, under its first seed. Refuses a specification of several runs.
//
// Keys that say when a simulated worker comes and how it lies (`share`, `byzantine`, `attack`,
// `arrivals`, ...) are not looked at, except that a rule may name the share. Where the
// specification does not set them, workers get the newest model (`reply`), and the weights are
// f-cap(1, 0.2), unless there are too few workers for that.
Result<experiment::PlannedRun> plan_run(experiment::Spec spec);

// The liars of a cluster that is made to try things out: the last `count` workers, with the attack
// of `run`.
struct Liars {
  std::uint64_t count = 0;
  assembly::RunSpec run;
};
// Requires: a specification that plan_run() takes.
Result<Liars> plan_liars(experiment::Spec spec);

// The same with its data and model loaded.
Result<Plan> make_plan(experiment::Spec spec);

// worker-0, worker-1, ...: what the workers of a run are called unless somebody says otherwise.
std::vector<std::string> default_names(std::uint64_t worker_count);

// What must be the same for a run to go on from a checkpoint: the keys and the seed. How long it
// goes on, how often it is evaluated, on which device and with how many workers may change.
std::string configuration(const experiment::PlannedRun& planned);

}  // namespace ballast::service
