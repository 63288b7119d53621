#pragma once
// Private to identity/: new files with chosen permissions, and folders that one process at a time
// changes. (files::write_file_atomically gives a new file the permissions of any other file, which
// would leave a key readable for a moment.)

#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "ballast/base/error.h"

namespace ballast::identity {

inline constexpr mode_t kPrivate = 0600;  // keys
inline constexpr mode_t kPublic = 0644;   // certificates and lists

// An open file or folder, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  bool is_open() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

// The operating system's reason, which is in errno, after the path and what was tried.
tl::unexpected<Error> system_error(const std::filesystem::path& path, std::string_view what);

// Writes a file that must not exist yet and flushes it to the disk. It has these permissions from
// its first moment on, less what the process masks out. On an error no file remains.
Status write_new_file(const std::filesystem::path& path, std::string_view text, mode_t permissions);

// Waits until what was renamed in the folder is on the disk.
Status flush_folder(const std::filesystem::path& folder);

// A finished file that waits beside its target, and vanishes unless it is put in its place.
class StagedFile {
 public:
  static Result<StagedFile> write(const std::filesystem::path& target, std::string_view text,
                                  mode_t permissions);
  StagedFile(StagedFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  // Replaces the target. A target that is not a regular file is refused when it is staged.
  Status put_in_place();

 private:
  StagedFile(std::filesystem::path path, std::filesystem::path target)
      : path_(std::move(path)), target_(std::move(target)) {}

  std::filesystem::path path_;  // empty once it is in place
  std::filesystem::path target_;
};

// Waits until no other process holds the folder, and holds it for as long as the descriptor lives.
Result<Descriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace ballast::identity
