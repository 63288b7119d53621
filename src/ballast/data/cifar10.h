#pragma once
// The binary version of CIFAR-10: records of one label byte and 3 x 32 x 32 pixel bytes (all red,
// all green, all blue; rows from the top), nothing else.

#include <filesystem>
#include <span>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"

namespace ballast::data {

inline constexpr Shape kCifar10Shape{.channels = 3, .height = 32, .width = 32};
inline constexpr std::size_t kCifar10RecordBytes = 1 + 3 * 32 * 32;
inline constexpr int kCifar10ClassCount = 10;

// Reads the records of all files, in the order given.
Result<Dataset> read_cifar10(std::span<const std::filesystem::path> paths,
                             Normalization normalization);

}  // namespace ballast::data
