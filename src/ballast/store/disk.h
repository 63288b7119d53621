#pragma once
// Private to store/: the calls that change the disk. Each checks what the operating system returns,
// names the file in its error, and reaches the failpoint of its name, so that tests can make any of
// them fail.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "ballast/base/error.h"
#include "ballast/store/descriptor.h"

namespace ballast::store {

// A file that is written once, from front to back. After an error it must be thrown away: once a
// flush has failed nobody knows which bytes reached the disk, and a second flush may say that all
// did.
class NewFile {
 public:
  // Reserves the disk space at once, so that a full disk shows before anything is written.
  static Result<NewFile> create(const std::filesystem::path& path, std::uint64_t bytes);

  Status append(std::span<const std::byte> bytes);

  // Flushes to the disk and closes.
  Status finish();

 private:
  NewFile(std::filesystem::path path, Descriptor file);
  std::filesystem::path path_;
  Descriptor file_;
};

Status make_folder(const std::filesystem::path& path);
Status sync_folder(const std::filesystem::path& path);
Status rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
Status link_file(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes a file, or a folder with all that is in it; nothing happens if there is none.
Status remove_tree(const std::filesystem::path& path);

// Makes this process the only one that writes to the folder, until the descriptor is closed.
Result<Descriptor> lock_folder(const std::filesystem::path& path);

}  // namespace ballast::store
