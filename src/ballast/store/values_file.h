#pragma once
// Private to store/: a file of float values: a header of 32 bytes (magic, version, number of
// values) and the values, little-endian. docs/durable-state.md has the layout.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/store/file_system.h"
#include "ballast/store/manifest.h"

namespace ballast::store {

// Writes a new file with the values of all pieces, and flushes it to the disk.
Result<FileFacts> write_values(FileSystem& disk, const std::filesystem::path& path,
                               std::initializer_list<std::span<const float>> pieces);

// The size of the file that holds so many values.
std::uint64_t values_file_bytes(std::uint64_t value_count) noexcept;

// Reads the pieces back: counts[i] values into the i-th vector of the result. An error unless the
// file has the size that the counts give and the checksum of `facts`. Allocates only after the size
// of the file is known to be right.
Result<std::vector<std::vector<float>>> read_values(const FileSystem& disk,
                                                    const std::filesystem::path& path,
                                                    const FileFacts& facts,
                                                    std::initializer_list<std::uint64_t> counts);

// Whether the file has the size and the checksum that it should. Needs little memory.
Status verify_file(const FileSystem& disk, const std::filesystem::path& path,
                   const FileFacts& facts);

}  // namespace ballast::store
