#pragma once
// What messages about files have in common, here and in the rooms that read files.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "ballast/base/error.h"

namespace ballast::files {

// The text between single quotes, shortened when it is long and with '?' for whatever is not
// printable ASCII: text out of a file must not break a one-line message or steer a terminal.
std::string in_quotes(std::string_view text);

// The same without quotes and at any length, for paths.
std::string shown(const std::filesystem::path& path);

// Puts the name of the file in front of the error, if there is one.
template <typename T>
Result<T> naming(const std::filesystem::path& path, Result<T> result) {
  if (!result) result.error().message = shown(path) + ": " + result.error().message;
  return result;
}

}  // namespace ballast::files
