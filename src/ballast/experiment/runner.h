#pragma once
// All the runs of a specification, several at a time, and the files they leave.
//
// Written to the output folder: spec.toml (resolved), metrics.csv, summary.json, model.safetensors
// (of the first run), curves.png and curves.svg, runs/ (a record and a model of each run), and
// tensorboard/. Runs that are there already, finished and made from the same values, are not
// repeated.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/assembly/materials.h"
#include "ballast/base/error.h"
#include "ballast/experiment/grid.h"
#include "ballast/experiment/spec.h"
#include "ballast/records/records.h"

namespace ballast::experiment {

// One of several shares of the runs, so that machines with a common folder can divide the work: the
// runs number, number + count, ... of the plan, counted from 1.
struct Part {
  std::size_t number = 1;
  std::size_t count = 1;

  bool is_all() const noexcept { return count == 1; }
};

// "3/16". Refuses what is not a number from 1 to count, and a count above kRunsMax.
Result<Part> parse_part(std::string_view text);

struct RunnerOptions {
  std::filesystem::path folder;
  std::size_t threads = 1;   // of all runs together
  std::string title = {};    // above the curves; empty: the specification's name
  bool keeps_models = true;  // of every run, in runs/; else that of the first run alone
  // Less than all of it: only records and models in runs/ are written. Whoever runs everything into
  // the same folder afterwards finds them there and writes the rest. Several processes may work on
  // one folder at a time; if two make the same run, both leave the same.
  Part part = {};
  // Replaces results that were made with other settings, which are refused else.
  bool replaces_others = false;
  // Runs under way are saved so often, and when they are stopped; the next call goes on with them.
  // 0: they are not.
  double checkpoint_seconds = 30.0;
  // Records what the rules did at every evaluation, in more columns, and draws why.png and why.svg.
  // A run that is there without it is made again.
  bool explains = false;
  bool draws = true;  // the curves
  // Output folders whose finished runs are taken over where they are the same runs, but for one
  // whose model is kept.
  std::vector<std::filesystem::path> other_folders = {};
  // Data sets and models that several specifications share. Borrowed; none: its own.
  assembly::Materials* materials = nullptr;
  // Looked at between two updates; true ends the runs early. Borrowed.
  const std::atomic<bool>* stop = nullptr;
  // Seconds since 1970, for TensorBoard, which shows when a run began.
  std::function<double()> wall_time = [] { return 0.0; };
  // Called once before the first run: how many updates are to be made, how many runs were found.
  std::function<void(std::uint64_t updates, std::size_t found)> on_start = [](std::uint64_t,
                                                                              std::size_t) {};
  // Called from several threads, after every evaluation.
  std::function<void(const PlannedRun&, const records::EvaluationRecord&)> on_evaluation =
      [](const PlannedRun&, const records::EvaluationRecord&) {};
  // Called from several threads.
  std::function<void(std::uint64_t updates)> on_progress = [](std::uint64_t) {};
  // Called from several threads, with updates of runs under way that an earlier call made; none:
  // on_progress is.
  std::function<void(std::uint64_t updates)> on_resume = {};
};

struct RunnerResult {
  std::vector<records::RunRecord>
      records;               // in the order of the plan; without runs that never began
  bool is_complete = false;  // every run, of the part, is finished or has diverged
  std::string warning = {};  // what could not be saved or drawn, and why; empty if nothing
};

// Runs what is not done yet. A specification that is wrong, or whose data or model cannot be had,
// is refused before anything is written. When a run fails, the others are stopped, what is done is
// kept, and the error is returned.
//
// Determinism: models and records (but for the seconds) do not depend on the number of threads.
Result<RunnerResult> run_all(const Spec& spec, const RunnerOptions& options);

}  // namespace ballast::experiment
