#include "ballast/files/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "ballast/files/error_text.h"

namespace ballast::files {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

constexpr int kNewFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

// `named` is what errors call the file.
Status write_all(const Descriptor& file, const std::filesystem::path& named, Pieces pieces) {
  for (std::span<const std::byte> bytes : pieces) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(named, "cannot write");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  if (::fsync(file.get()) != 0) return system_error(named, "cannot flush to the disk");
  return {};
}

// Renaming onto a link would replace the link and leave the old key where it points.
Status check_target(const std::filesystem::path& target) {
  struct stat facts;
  if (::lstat(target.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    return system_error(target, "cannot replace");
  }
  if (S_ISREG(facts.st_mode)) return {};
  return invalid_argument(
      fmt::format("{}: is not a regular file; move it away first", shown(target)));
}

Result<Descriptor> open_folder(const std::filesystem::path& folder) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return system_error(folder, "cannot open the folder");
  return opened;
}

struct OpenedFile {
  std::filesystem::path path;
  Descriptor file;
};

// The name is free because O_EXCL says so; others may be left from processes that were stopped, or
// belong to other threads.
Result<OpenedFile> open_beside(const std::filesystem::path& target, mode_t permissions) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::filesystem::path path = target;
    path.replace_filename(
        fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt));
    Descriptor file(::open(path.c_str(), kNewFlags, permissions));
    if (file.is_open()) return OpenedFile{std::move(path), std::move(file)};
    if (errno != EEXIST) break;
  }
  return system_error(target, "cannot create");
}

}  // namespace

tl::unexpected<Error> system_error(const std::filesystem::path& path, std::string_view what) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return tl::unexpected<Error>(Error{
      code, fmt::format("{}: {}: {}", shown(path), what, std::generic_category().message(reason))});
}

Status write_new_file(const std::filesystem::path& path, std::string_view text,
                      mode_t permissions) {
  const Descriptor file(::open(path.c_str(), kNewFlags, permissions));
  if (!file.is_open()) return system_error(path, "cannot create");
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(text))};
  Status status = write_all(file, path, pieces);
  if (!status) ::unlink(path.c_str());
  return status;
}

Status flush_folder(const std::filesystem::path& folder) {
  BALLAST_TRY(const Descriptor opened, open_folder(folder));
  // Some file systems have no flush for folders and say EINVAL; there is nothing to wait for then.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) {
    return system_error(folder, "is written, but may be lost if the machine stops now");
  }
  return {};
}

Result<StagedFile> StagedFile::write(const std::filesystem::path& target, std::string_view text,
                                     mode_t permissions) {
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(text))};
  return write(target, pieces, permissions);
}

Result<StagedFile> StagedFile::write(const std::filesystem::path& target, Pieces pieces,
                                     mode_t permissions) {
  BALLAST_TRY_STATUS(check_target(target));
  BALLAST_TRY(OpenedFile opened, open_beside(target, permissions));
  StagedFile staged(std::move(opened.path), target);
  BALLAST_TRY_STATUS(write_all(opened.file, target, pieces));
  return staged;
}

StagedFile::~StagedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Status StagedFile::set_permissions(mode_t permissions) {
  if (::chmod(path_.c_str(), permissions) == 0) return {};
  return system_error(target_, "cannot set permissions");
}

Status StagedFile::put_in_place() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) return system_error(target_, "cannot replace");
  path_.clear();
  return {};
}

Result<Descriptor> lock_folder(const std::filesystem::path& folder) {
  BALLAST_TRY(Descriptor opened, open_folder(folder));
  while (::flock(opened.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return system_error(folder, "cannot lock the folder");
  }
  return opened;
}

}  // namespace ballast::files
