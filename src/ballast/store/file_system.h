#pragma once
// The calls by which a store changes the disk and reads it back. There is the operating system's,
// which checks what each call returns, names the file in its error and reaches the failpoint of its
// name, so that tests can make any of them fail; and there is the simulator's, in memory, which
// loses at a crash what was not flushed (simulate/disk.h).
//
// Thread-safety: of the operating system's, any thread; of others, what they say.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/files/file_io.h"

namespace ballast::store {

// A file that is written once, from front to back. After an error it must be thrown away: once a
// flush has failed nobody knows which bytes reached the disk, and a second flush may say that all
// did.
class NewFile {
 public:
  virtual ~NewFile() = default;
  virtual Status append(std::span<const std::byte> bytes) = 0;

  // Flushes to the disk and closes.
  virtual Status finish() = 0;
};

// Held by the one who writes to a folder.
class FolderLock {
 public:
  virtual ~FolderLock() = default;
};

class FileSystem {
 public:
  using Path = std::filesystem::path;

  virtual ~FileSystem() = default;

  // Refuses a file that is there. Reserves the disk space at once, so that a full disk shows before
  // anything is written.
  virtual Result<std::unique_ptr<NewFile>> create(const Path& path, std::uint64_t bytes) = 0;
  virtual Status make_folder(const Path& path) = 0;
  // Flushes the names in the folder, not what the files hold.
  virtual Status sync_folder(const Path& path) = 0;
  virtual Status rename(const Path& from, const Path& to) = 0;
  virtual Status link(const Path& from, const Path& to) = 0;
  // Removes a file, or a folder with all that is in it; nothing happens if there is none.
  virtual Status remove_tree(const Path& path) = 0;
  // Makes the caller the only one that writes to the folder, as long as the lock lives.
  virtual Result<std::unique_ptr<FolderLock>> lock(const Path& folder) = 0;

  // Errors do not name the file: the caller does.
  virtual Result<std::unique_ptr<files::ByteSource>> open(const Path& path) const = 0;
  virtual bool exists(const Path& path) const = 0;
  // The names in a folder, in any order.
  virtual Result<std::vector<std::string>> list(const Path& folder) const = 0;

  // By which name SQLite knows these files (sqlite3_vfs); null: the operating system's.
  virtual const char* database_files() const noexcept { return nullptr; }
};

// The one that everybody uses who is not simulated.
FileSystem& operating_system();

}  // namespace ballast::store
