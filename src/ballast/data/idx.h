#pragma once
// The idx files of MNIST and Fashion-MNIST: two zero bytes, the element type, the number of
// extents, the extents as big-endian 32-bit numbers, then the elements. Plain or gzip.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"

namespace ballast::data {

struct IdxArray {
  std::vector<std::uint32_t> extents;  // slowest first; their product is values.size()
  std::vector<std::uint8_t> values;
};

// Reads an array of unsigned bytes with one to three extents. Memory is set aside only after the
// size in the header was found possible for the file.
Result<IdxArray> read_idx(const std::filesystem::path& path);

// Where the two halves of a set of greyscale images lie.
struct IdxPaths {
  std::filesystem::path images;  // count x rows x columns
  std::filesystem::path labels;  // count
};

// Labels are 0 .. 9 in both data sets.
Result<Dataset> read_idx_dataset(const IdxPaths& paths, Normalization normalization);

}  // namespace ballast::data
