// In the place of run_checkpoint.cc where there is no store/: runs are not saved.

#include "ballast/experiment/run_checkpoint.h"

namespace ballast::experiment {

struct RunCheckpoint::Impl {};

std::optional<std::string> fingerprint_in(const std::filesystem::path&) { return std::nullopt; }

RunCheckpoint::RunCheckpoint(std::filesystem::path, const RunIdentity&) {}
RunCheckpoint::~RunCheckpoint() = default;

std::optional<SavedRun> RunCheckpoint::load() { return std::nullopt; }

Status RunCheckpoint::save(const sim::ClusterStateView&, const Tally&, const records::RunRecord&) {
  return {};
}

void RunCheckpoint::remove() {}

}  // namespace ballast::experiment
