#pragma once
// A fresh folder that vanishes with its owner.

#include <filesystem>
#include <utility>

#include "ballast/base/error.h"

namespace ballast::data {

class TemporaryFolder {
 public:
  // Creates a folder with a new name inside `parent`, readable by this user only.
  static Result<TemporaryFolder> create(const std::filesystem::path& parent);

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  // Removes the folder with everything in it, as far as the operating system lets it.
  ~TemporaryFolder();

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) noexcept : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty after a move
};

}  // namespace ballast::data
