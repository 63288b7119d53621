#pragma once
// Contests run one after the other into one folder, each after the search for its step sizes.
//
// Written: NAME-search/ and NAME/ for each contest (experiment/runner.h), arena.md with its
// pictures in images/, and report.html, which is the same page. Runs that are there already are not
// repeated. The pages are written once everything has been run.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ballast/arena/arena_page.h"
#include "ballast/arena/contest_spec.h"
#include "ballast/base/error.h"
#include "ballast/data/program.h"

namespace ballast::arena {

struct ArenaOptions {
  std::filesystem::path folder;
  std::size_t threads = 1;
  std::string size = std::string(kFullSize);        // what the page says; at_size() makes it so
  bool replaces_others = false;                     // see experiment::RunnerOptions
  std::string command = {};                         // that the page says it was made by
  std::string program = {};                         // version and commit
  data::ProgramRunner painter = data::run_program;  // of the pictures
  // Looked at between two updates; true ends the runs early. Borrowed.
  const std::atomic<bool>* stop = nullptr;
  std::function<double()> wall_time = [] { return 0.0; };  // see experiment::RunnerOptions
  // Called once before the first run: the updates and the runs of all contests together.
  std::function<void(std::uint64_t updates, std::size_t runs)> on_start = [](std::uint64_t,
                                                                             std::size_t) {};
  // Called when a contest or its search begins: how many of its updates were found done.
  std::function<void(const std::string& stage, std::uint64_t updates)> on_stage =
      [](const std::string&, std::uint64_t) {};
  // Called from several threads.
  std::function<void(std::uint64_t updates)> on_progress = [](std::uint64_t) {};
  // Called from several threads, with updates of runs under way that an earlier call made; none:
  // on_progress is.
  std::function<void(std::uint64_t updates)> on_resume = {};
};

struct ArenaResult {
  std::vector<ContestResult> contests;  // those that are complete
  bool is_complete = false;
  std::string warning = {};  // what could not be drawn, and why; empty if nothing
};

// A specification that is wrong and data that are missing are refused before anything is run or
// written, whichever contest they belong to.
//
// Requires: the first contest has curves.
Result<ArenaResult> run_arena(std::vector<ContestSpec> contests, const ArenaOptions& options);

}  // namespace ballast::arena
