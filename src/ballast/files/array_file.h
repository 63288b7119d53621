#pragma once
// One array out of a file of any format this room reads: what a command-line argument names.
//
// Thread-safety: pure functions but for the files they read.

#include <filesystem>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/files/array.h"

namespace ballast::files {

struct ArrayLocation {
  std::filesystem::path path;
  std::string tensor;  // empty when none is named
};

// Splits FILE or FILE:TENSOR. Either part may contain colons: the longest beginning of the text
// that is the name of something that exists is the file.
Result<ArrayLocation> find_array(std::string_view location);

// Reads the array at FILE or FILE:TENSOR. The format is told by the first bytes of the file, not by
// its name. A safetensors file with one tensor needs no name; with more, the error lists them.
Result<Array> read_array(std::string_view location);

}  // namespace ballast::files
