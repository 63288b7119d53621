#pragma once
// New files that are whole or not there, with the permissions they are to have from their first
// moment on, and folders that one process at a time changes. Every durable file of the house but a
// checkpoint's is written by this (those reach failpoints at each call: store/file_system.h).

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "ballast/base/error.h"
#include "ballast/files/descriptor.h"

namespace ballast::files {

inline constexpr mode_t kPrivate = 0600;   // keys
inline constexpr mode_t kPublic = 0644;    // certificates and lists
inline constexpr mode_t kOrdinary = 0666;  // as any program makes a file; the process masks it

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
  // A target that is there and not a regular file, a link for example, is refused. Errors name the
  // target.
  static Result<StagedFile> write(const std::filesystem::path& target, std::string_view text,
                                  mode_t permissions);
  static Result<StagedFile> write(const std::filesystem::path& target,
                                  std::span<const std::span<const std::byte>> pieces,
                                  mode_t permissions);

  StagedFile(StagedFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  // Gives it exactly these permissions, whatever the process masks out.
  Status set_permissions(mode_t permissions);

  // Replaces the target. flush_folder() makes that durable.
  Status put_in_place();

 private:
  StagedFile(std::filesystem::path path, std::filesystem::path target)
      : path_(std::move(path)), target_(std::move(target)) {}

  std::filesystem::path path_;  // empty once it is in place
  std::filesystem::path target_;
};

// Waits until no other process holds the folder, and holds it for as long as the descriptor lives.
Result<Descriptor> lock_folder(const std::filesystem::path& folder);

}  // namespace ballast::files
