#include "ballast/store/file_system.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "ballast/store/descriptor.h"
#include "ballast/store/failpoint.h"

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0777;  // as any new folder: the user's mask decides
constexpr mode_t kFileMode = 0666;

tl::unexpected<Error> failure(const fs::path& path, std::string_view what, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return tl::unexpected<Error>(Error{code, fmt::format("{}: {}: {}", path.string(), what,
                                                       std::generic_category().message(error))});
}

// The result of a call that sets errno, or the error that the failpoint pretends.
template <typename Call>
int outcome(int pretended, Call&& call) {
  if (pretended != 0) return pretended;
  while (call() < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

class DiskFile final : public NewFile {
 public:
  DiskFile(fs::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Status append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      ssize_t count = 0;
      if (const int error = outcome(BALLAST_FAILPOINT("write"), [&] {
            return count = ::write(file_.get(), bytes.data(), bytes.size());
          })) {
        return failure(path_, "cannot write", error);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  Status finish() override {
    int error = BALLAST_FAILPOINT("sync");
    if (error == 0 && ::fdatasync(file_.get()) != 0) error = errno;
    if (error != 0) return failure(path_, "cannot flush to the disk", error);
    error = BALLAST_FAILPOINT("close");
    if (error == 0 && ::close(file_.release()) != 0) error = errno;
    if (error != 0) return failure(path_, "cannot close", error);
    return {};
  }

 private:
  fs::path path_;
  Descriptor file_;
};

// Until the descriptor is closed.
class DiskLock final : public FolderLock {
 public:
  explicit DiskLock(Descriptor folder) : folder_(std::move(folder)) {}

 private:
  Descriptor folder_;
};

class OperatingSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<NewFile>> create(const Path& path, std::uint64_t bytes) override {
    int number = -1;
    if (const int error = outcome(BALLAST_FAILPOINT("create"), [&] {
          return number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
        })) {
      return failure(path, "cannot create", error);
    }
    auto file = std::make_unique<DiskFile>(path, Descriptor(number));
    int error = BALLAST_FAILPOINT("allocate");
    if (error == 0) error = ::posix_fallocate(number, 0, static_cast<off_t>(bytes));
    // Some file systems cannot reserve; there a full disk shows when it is written to.
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL) {
      return failure(path, fmt::format("cannot reserve {} bytes", bytes), error);
    }
    return file;
  }

  Status make_folder(const Path& path) override {
    const int error = outcome(BALLAST_FAILPOINT("make-folder"),
                              [&] { return ::mkdir(path.c_str(), kFolderMode); });
    if (error != 0) return failure(path, "cannot make the folder", error);
    return {};
  }

  Status sync_folder(const Path& path) override {
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) return failure(path, "cannot open", errno);
    int error = BALLAST_FAILPOINT("sync-folder");
    if (error == 0 && ::fsync(folder.get()) != 0) error = errno;
    // Some file systems have no flush for folders and say EINVAL; there is nothing to wait for.
    if (error != 0 && error != EINVAL) return failure(path, "cannot flush to the disk", error);
    return {};
  }

  Status rename(const Path& from, const Path& to) override {
    const int error =
        outcome(BALLAST_FAILPOINT("rename"), [&] { return ::rename(from.c_str(), to.c_str()); });
    if (error != 0) return failure(to, "cannot rename to it", error);
    return {};
  }

  Status link(const Path& from, const Path& to) override {
    const int error =
        outcome(BALLAST_FAILPOINT("link"), [&] { return ::link(from.c_str(), to.c_str()); });
    if (error != 0) return failure(to, "cannot link", error);
    return {};
  }

  Status remove_tree(const Path& path) override {
    std::error_code reason;
    if (const int error = BALLAST_FAILPOINT("remove")) {
      return failure(path, "cannot remove", error);
    }
    fs::remove_all(path, reason);
    if (reason) return failure(path, "cannot remove", reason.value());
    return {};
  }

  Result<std::unique_ptr<FolderLock>> lock(const Path& path) override {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) return failure(path, "cannot open", errno);
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
      return std::make_unique<DiskLock>(std::move(folder));
    }
    if (errno != EWOULDBLOCK) return failure(path, "cannot lock", errno);
    return io_error(fmt::format(
        "{}: another process writes its checkpoints here; stop it, or use another folder",
        path.string()));
  }

  Result<std::unique_ptr<files::ByteSource>> open(const Path& path) const override {
    return files::open_file(path);
  }

  bool exists(const Path& path) const override {
    std::error_code reason;
    return fs::exists(path, reason);
  }

  Result<std::vector<std::string>> list(const Path& folder) const override {
    std::vector<std::string> names;
    std::error_code reason;
    fs::directory_iterator entry(folder, reason);
    for (; !reason && entry != fs::directory_iterator(); entry.increment(reason)) {
      names.push_back(entry->path().filename().string());
    }
    if (!reason) return names;
    const std::string message = fmt::format("{}: {}", folder.string(), reason.message());
    return reason == std::errc::no_such_file_or_directory
               ? Result<std::vector<std::string>>(not_found(message))
               : Result<std::vector<std::string>>(io_error(message));
  }
};

}  // namespace

FileSystem& operating_system() {
  static OperatingSystem instance;
  return instance;
}

}  // namespace ballast::store
