#pragma once
// Whole text files in and out, and the folders they go to.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::files {

// The whole file. More than bytes_max is refused before it is read.
Result<std::string> read_text(const std::filesystem::path& path, std::size_t bytes_max);

// Replaces the file, all of it or nothing.
Status write_text(const std::filesystem::path& path, std::string_view text);

// Creates the folder and those above it where they are missing.
Status make_folder(const std::filesystem::path& path);

}  // namespace ballast::files
