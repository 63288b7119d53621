#pragma once
// What a run leaves behind, in memory. The files made of it are metrics_csv.h, run_file.h,
// summary.h, tensorboard.h and plot.h.

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::records {

// The state of a run after t accepted updates.
struct EvaluationRecord {
  std::uint64_t t = 0;
  double test_accuracy = 0.0;  // fraction of the test set, 0 to 1
  double test_loss = 0.0;
  double train_loss = 0.0;  // mean over the honest updates since the last evaluation; NaN if none
  std::uint64_t byzantine_updates = 0;  // accepted so far
  double staleness_mean = 0.0;          // over the updates since the last evaluation
  std::uint64_t staleness_max = 0;
  double seconds = 0.0;  // of training since the start of the run

  bool operator==(const EvaluationRecord&) const = default;
};

// Stable: the names are written to files.
enum class RunStatus {
  kFinished,
  kInterrupted,  // stopped by the user; will be run again
  kDiverged,     // a value left the finite numbers; running again would do the same
};

struct RunRecord {
  std::string run = {};    // unique among the runs of a grid with the same seed
  std::string panel = {};  // the picture it is drawn in
  std::string curve = {};  // the line it belongs to there; runs with other seeds share it
  std::uint64_t seed = 0;
  std::string fingerprint = {};                    // of everything that decides the result
  std::vector<EvaluationRecord> evaluations = {};  // t increases
  RunStatus status = RunStatus::kFinished;
  double gradient_seconds = 0.0;  // in gradients, summed over threads
  double total_seconds = 0.0;

  bool operator==(const RunRecord&) const = default;
};

}  // namespace ballast::records
