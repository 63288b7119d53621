#include "ballast/files/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/files/error_text.h"

namespace ballast::files {
namespace {

// The operating system's reason, which is in errno.
tl::unexpected<Error> system_error(std::string_view what) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return tl::unexpected<Error>(
      Error{code, fmt::format("{}: {}", what, std::generic_category().message(reason))});
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }
  bool is_open() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

class FileSource final : public ByteSource {
 public:
  FileSource(Descriptor file, std::size_t size) : file_(std::move(file)), size_(size) {}
  std::size_t size() const noexcept override { return size_; }

  Status read(std::size_t offset, std::span<std::byte> out) const override {
    BALLAST_CHECK(offset <= size_ && out.size() <= size_ - offset, "reads stay inside the file");
    while (!out.empty()) {
      const ssize_t count =
          ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error("cannot read");
      if (count == 0) return io_error("the file shrank while it was read; read it again");
      offset += static_cast<std::size_t>(count);
      out = out.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

 private:
  Descriptor file_;
  std::size_t size_;
};

// A new file beside its target that disappears unless it is renamed to it.
class TemporaryFile {
 public:
  // Created with the permissions that any new file gets; the name is free because O_EXCL says so.
  static Result<TemporaryFile> create_beside(const std::filesystem::path& target) {
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      std::filesystem::path path = target;
      path += fmt::format(".{}-{}.tmp", ::getpid(), attempt);
      Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.is_open()) return TemporaryFile(std::move(path), std::move(file));
      if (errno != EEXIST) break;
    }
    return system_error("cannot create a temporary file beside it");
  }

  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  Status set_permissions(mode_t permissions) {
    if (::fchmod(file_.get(), permissions) != 0) return system_error("cannot set permissions");
    return {};
  }

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error("cannot write");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  Status flush_and_rename(const std::filesystem::path& target) {
    if (::fsync(file_.get()) != 0) return system_error("cannot flush to the disk");
    if (::rename(path_.c_str(), target.c_str()) != 0) return system_error("cannot rename");
    path_.clear();
    return {};
  }

 private:
  TemporaryFile(std::filesystem::path path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  Descriptor file_;
};

struct Target {
  std::filesystem::path path;
  std::optional<mode_t> permissions;  // of the file that is replaced, if there is one
};

// Renaming onto a device or a pipe would destroy it, so only regular files are replaced.
Result<Target> find_target(const std::filesystem::path& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT) return system_error("cannot replace");
    return Target{path, std::nullopt};
  }
  if (!S_ISREG(facts.st_mode)) return invalid_argument("is not a regular file; name another one");
  std::error_code failure;
  Target target{std::filesystem::canonical(path, failure), facts.st_mode & 07777};
  if (failure) return io_error("cannot replace: " + failure.message());
  return target;
}

Status replace(const std::filesystem::path& path,
               std::span<const std::span<const std::byte>> pieces) {
  BALLAST_TRY(const Target target, find_target(path));
  const std::filesystem::path parent = target.path.parent_path();
  const Descriptor folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return system_error("cannot open its folder");
  BALLAST_TRY(TemporaryFile file, TemporaryFile::create_beside(target.path));
  if (target.permissions) BALLAST_TRY_STATUS(file.set_permissions(*target.permissions));
  for (const auto piece : pieces) BALLAST_TRY_STATUS(file.append(piece));
  BALLAST_TRY_STATUS(file.flush_and_rename(target.path));
  // Some file systems have no flush for folders and say EINVAL; there is nothing to wait for then.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) {
    return system_error("is written, but may be lost if the machine stops now");
  }
  return {};
}

}  // namespace

Status MemorySource::read(std::size_t offset, std::span<std::byte> out) const {
  BALLAST_CHECK(offset <= size() && out.size() <= size() - offset, "reads stay inside the bytes");
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  return {};
}

Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for somebody to write into it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return system_error("cannot open");
  struct stat facts;
  if (::fstat(file.get(), &facts) != 0) return system_error("cannot read its size");
  if (!S_ISREG(facts.st_mode)) {
    return invalid_argument("is not a regular file; save the data to one first");
  }
  return std::make_unique<FileSource>(std::move(file), static_cast<std::size_t>(facts.st_size));
}

Result<AlignedVector<std::byte>> read_file(const std::filesystem::path& path) {
  const auto read_all = [&]() -> Result<AlignedVector<std::byte>> {
    BALLAST_TRY(const auto source, open_file(path));
    AlignedVector<std::byte> bytes;
    BALLAST_TRY_STATUS(try_resize(bytes, source->size()));
    BALLAST_TRY_STATUS(source->read(0, bytes));
    return bytes;
  };
  return naming(path, read_all());
}

Status write_file_atomically(const std::filesystem::path& path,
                             std::span<const std::span<const std::byte>> pieces) {
  return naming(path, replace(path, pieces));
}

}  // namespace ballast::files
