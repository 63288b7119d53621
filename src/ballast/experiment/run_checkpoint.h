#pragma once
// Checkpoints inside a run: after a crash or Ctrl-C the same command goes on from the last one, bit
// for bit as if nothing had happened.
//
// A checkpoint is one of a server (store/), in which the workers and what was recorded so far are
// part of the state, beside a record-T.json with the evaluations so far. It lies in a folder of its
// own while the run is under way and goes with the end of the run.
//
// A build without SQLite or xxHash saves nothing.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ballast/base/error.h"
#include "ballast/records/records.h"
#include "ballast/sim/cluster_state.h"

namespace ballast::experiment {

// What a run has counted since its last evaluation, and how long it took so far.
struct Tally {
  std::uint64_t byzantine = 0;  // since the start
  std::uint64_t updates = 0;
  std::uint64_t honest = 0;
  std::uint64_t staleness_sum = 0;
  std::uint64_t byzantine_staleness = 0;
  std::uint64_t staleness_max = 0;
  double loss_sum = 0.0;
  double training_seconds = 0.0;
  double total_seconds = 0.0;
};

struct SavedRun {
  sim::ClusterState cluster;
  Tally tally;
  records::RunRecord record;
};

// What must be the same for a run to go on.
struct RunIdentity {
  std::string fingerprint;
  std::uint64_t worker_count = 0;
  std::uint64_t dim = 0;
  std::uint64_t statistic_count = 0;
  bool is_explained = false;  // else the evaluations so far lack what later ones have
};

// Of the run that such a folder holds; none where that cannot be read.
std::optional<std::string> fingerprint_in(const std::filesystem::path& folder);

class RunCheckpoint {
 public:
  // Nothing is made before the first save().
  RunCheckpoint(std::filesystem::path folder, const RunIdentity& identity);
  ~RunCheckpoint();
  RunCheckpoint(const RunCheckpoint&) = delete;
  RunCheckpoint& operator=(const RunCheckpoint&) = delete;

  // The run that the folder holds; none if there is none, if it is another run's, damaged, or
  // somebody else is at it: then the run begins anew.
  std::optional<SavedRun> load();

  // Replaces what was saved, all of it or nothing. While another process works on the same run,
  // nothing is saved.
  Status save(const sim::ClusterStateView& cluster, const Tally& tally,
              const records::RunRecord& record);

  // Removes the folder: the run is over, or begins anew.
  void remove();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ballast::experiment
