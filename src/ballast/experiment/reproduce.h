#pragma once
// The paper's figures, run one after the other into one folder.
//
// Written: figN/ for each figure (runner.h), claims.json, report.html, and results.md with its
// pictures in images/, which together are docs/results.md. Runs that are there already are not
// repeated. Claims and reports are written once everything has been run.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/figures.h"
#include "ballast/experiment/report.h"

namespace ballast::experiment {

struct ReproduceOptions {
  std::filesystem::path folder;
  std::size_t threads = 1;
  bool is_quick = false;         // what the report says; make_quick() makes it so
  bool replaces_others = false;  // see RunnerOptions
  // What the report says it was made by: see ReportOptions.
  std::string command = {};
  std::string program = {};
  // Looked at between two updates; true ends the runs early. Borrowed.
  const std::atomic<bool>* stop = nullptr;
  std::function<double()> wall_time = [] { return 0.0; };  // see RunnerOptions
  // Called once before the first run: the updates of all figures together.
  std::function<void(std::uint64_t updates)> on_start = [](std::uint64_t) {};
  // Called when a figure begins: how many of its updates were found done.
  std::function<void(const PaperFigure& figure, std::uint64_t updates)> on_figure =
      [](const PaperFigure&, std::uint64_t) {};
  // Called from several threads.
  std::function<void(std::uint64_t updates)> on_progress = [](std::uint64_t) {};
  // Called from several threads, with updates of runs under way that an earlier call made; none:
  // on_progress is.
  std::function<void(std::uint64_t updates)> on_resume = {};
};

struct ReproduceResult {
  std::vector<FigureResult> figures;  // those that are complete
  bool is_complete = false;
};

// A specification that is wrong and data that are missing are refused before anything is run or
// written, whichever figure they belong to.
Result<ReproduceResult> reproduce(const std::vector<PaperFigure>& figures,
                                  const ReproduceOptions& options);

}  // namespace ballast::experiment
