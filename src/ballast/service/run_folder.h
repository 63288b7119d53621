#pragma once
// What a state folder says of its run beside the checkpoints, so that the model can be taken out of
// it on any machine, without the data: spec.toml, the resolved specification, and input.json, what
// the model's samples are.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/plan.h"

namespace ballast::service {

// Writes both files, or writes them again.
Status describe_run(const std::filesystem::path& folder, const Plan& plan);

struct ExportReport {
  std::string run;
  std::uint64_t generation = 0;  // that the model is from
  std::uint64_t accepted = 0;    // updates it has seen
  // No worker had a row, so the file holds the statistics that a model starts with.
  bool has_initial_statistics = false;
};

// Writes the model of the newest intact checkpoint as assembly::write_model() does. Takes no lock
// and may run while the server does.
Result<ExportReport> export_model(const std::filesystem::path& folder,
                                  const std::filesystem::path& out);

// Remembers what a folder holds, to undo a start that failed: undo() removes what has come since,
// and the folder itself if it is new.
class FolderUndo {
 public:
  explicit FolderUndo(std::filesystem::path folder);
  void undo() const;

 private:
  std::filesystem::path folder_;
  bool is_new_;
  std::vector<std::filesystem::path> names_;
};

}  // namespace ballast::service
