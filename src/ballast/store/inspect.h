#pragma once
// What a checkpoint folder holds, for a person or a script that looks at it. Reads only, takes no
// lock and may run while a server writes; a generation that the server removes meanwhile shows as
// damaged.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/state.h"
#include "ballast/store/journal.h"
#include "ballast/store/manifest.h"

namespace ballast::store {

struct GenerationReport {
  std::uint64_t number = 0;
  std::optional<Manifest> manifest;  // none if it cannot be read
  std::uint64_t bytes = 0;           // of all its files, as the manifest gives them
  std::string damage;                // empty: every checksum is right
};

struct FolderReport {
  std::vector<GenerationReport> generations;  // the newest first
  std::string journal_damage;                 // empty: the journal can be read
  std::uint64_t journal_count = 0;            // its records
  std::vector<Incarnation> incarnations;
};

// An error if the folder cannot be read or holds no generation.
// Cost: reads every file once.
Result<FolderReport> inspect(const std::filesystem::path& folder);

// The newest manifest that can be read; the files it names may still be damaged.
// Cost: reads one file.
Result<Manifest> read_newest_manifest(const std::filesystem::path& folder);

// The state of the newest generation whose files are all undamaged.
struct NewestState {
  Manifest manifest;
  server::ServerState state;
};
// An error if the folder holds none.
Result<NewestState> read_newest(const std::filesystem::path& folder);

}  // namespace ballast::store
