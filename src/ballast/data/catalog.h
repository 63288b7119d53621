#pragma once
// The public data sets Ballast knows by name: their files, how each is checked, normalised and
// augmented. Everything that lists or loads a data set reads this one table.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/data/augment.h"
#include "ballast/data/dataset.h"

namespace ballast::data {

enum class Split { kTrain, kTest };

enum class FileFormat { kIdx, kCifar10 };

struct KnownFile {
  std::string_view name;    // uncompressed
  std::uint64_t bytes = 0;  // of the uncompressed file
  std::string_view sha256;  // of the uncompressed file, in lower-case hexadecimal
};

struct KnownDataset {
  std::string_view name;  // in commands and specifications, and of its folder
  std::string_view summary = {};
  FileFormat format = FileFormat::kIdx;
  std::span<const KnownFile> files = {};
  std::span<const float> mean = {};       // per channel, of pixels scaled to 0 .. 1
  std::span<const float> deviation = {};  // per channel
  Augmentation train_augmentation = {};   // what the paper trains with; none for the test split
};

std::span<const KnownDataset> known_datasets() noexcept;

// The entry of that name; the error suggests the nearest name.
Result<const KnownDataset*> find_dataset(std::string_view name);

// The folder that holds one folder per data set: $BALLAST_DATA, else $XDG_CACHE_HOME/ballast, else
// ~/.cache/ballast. An error when none of the three variables is set.
Result<std::filesystem::path> default_data_folder();

// Loads one split from `root`/name. Idx files may be gzip files with `.gz` after their name. Trusts
// that the files are the right ones: checksums are taken when files are fetched (fetch.h).
Result<Dataset> load_dataset(const KnownDataset& known, const std::filesystem::path& root,
                             Split split);

}  // namespace ballast::data
