#pragma once
// Runs that are done, one JSON file each, so that an interrupted grid goes on where it stopped.

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/records/records.h"

namespace ballast::records {

inline constexpr std::size_t kRunFileBytesMax = std::size_t{1} << 24;  // of a file that is read

// RUN-seedK, as part of a file name: letters, digits, dots, dashes and underscores. Where the run
// name has anything else, or is long, a number that follows from the whole name keeps it apart from
// other names.
std::string file_stem(const RunRecord& record);

// The record as JSON and back. Every number reads back to the same bits. Text that is not UTF-8 is
// refused; what is read may hold anything.
Result<std::string> run_json(const RunRecord& record);
Result<RunRecord> parse_run(std::string_view text);

// Keeps the run as folder/RUN-seedK.json, all of it or nothing. Makes the folder if need be.
Status write_run_file(const std::filesystem::path& folder, const RunRecord& record);

// The runs kept in the folder that have one of the fingerprints and were not interrupted, in the
// order of their file names. A folder that does not exist holds none. A file that cannot be read is
// an error that names it.
Result<std::vector<RunRecord>> load_finished_runs(const std::filesystem::path& folder,
                                                  const std::set<std::string>& fingerprints);

struct StoredRun {
  std::filesystem::path path;  // of its JSON file
  std::string fingerprint = {};
};

// Every run of the folder that is finished, in the order of the file names.
Result<std::vector<StoredRun>> list_runs(const std::filesystem::path& folder);

}  // namespace ballast::records
