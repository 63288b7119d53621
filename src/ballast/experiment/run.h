#pragma once
// One run of a specification, from the first model to the last.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ballast/assembly/materials.h"
#include "ballast/base/error.h"
#include "ballast/experiment/grid.h"
#include "ballast/records/records.h"

namespace ballast::experiment {

struct RunOptions {
  std::size_t threads = 1;
  // Where the run is saved every so often and when it is stopped; empty: nowhere. What the folder
  // holds of the same run is gone on from. The caller removes it.
  std::filesystem::path checkpoint_folder = {};
  double checkpoint_seconds = 30.0;
  bool explains = false;  // what the rule did, at every evaluation: see explain.h
  // Looked at between two updates; true ends the run early. Borrowed.
  const std::atomic<bool>* stop = nullptr;
  // Called after so many more updates, often.
  std::function<void(std::uint64_t updates)> on_progress = [](std::uint64_t) {};
  // Called once if the run goes on from a checkpoint, with the updates that are in it, which took
  // no time now; none: on_progress is.
  std::function<void(std::uint64_t updates)> on_resume = {};
  // Called after every evaluation; an error ends the run with it.
  std::function<Status(const records::EvaluationRecord&)> on_evaluation =
      [](const records::EvaluationRecord&) { return Status{}; };
};

struct FinishedRun {
  records::RunRecord record;
  std::vector<float> model = {};
  std::vector<float> statistics = {};
  std::string warning = {};  // why it was not saved while it ran; empty if it was
};

// Trains and evaluates. A run that leaves the finite numbers is not an error: its record says so,
// and the model is the last one before.
//
// Determinism: a function of the planned run, whatever the number of threads and however often it
// was cut; only the seconds differ.
Result<FinishedRun> run_one(const PlannedRun& planned, const assembly::Material& material,
                            const RunOptions& options = {});

}  // namespace ballast::experiment
