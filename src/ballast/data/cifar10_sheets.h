#pragma once
// CIFAR-10 as lossless PNG sheets: each of the 1024-pixel rows of a sheet is one 32 x 32 image, row
// after row, and the labels stand in a JSON list. Turns them into the official binary records
// (cifar10.h); for the official files the result is the same byte for byte.

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::data {

// Reads a JSON list of numbers 0 .. 9.
Result<std::vector<std::uint8_t>> read_label_list(const std::filesystem::path& path);

// The records of one sheet, in the order of its rows. Refuses a sheet whose size is not
// 1024 x labels.size().
Result<std::vector<std::uint8_t>> records_of_sheet(const std::filesystem::path& path,
                                                   std::span<const std::uint8_t> labels);

}  // namespace ballast::data
