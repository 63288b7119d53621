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
#include "ballast/files/new_file.h"

namespace ballast::files {
namespace {

// The operating system's reason, which is in errno.
tl::unexpected<Error> system_error(std::string_view what) {
  const int reason = errno;
  const ErrorCode code = reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return tl::unexpected<Error>(
      Error{code, fmt::format("{}: {}", what, std::generic_category().message(reason))});
}

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

Status replace(const Target& target, std::span<const std::span<const std::byte>> pieces) {
  const std::filesystem::path parent = target.path.parent_path();
  const Descriptor folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return files::system_error(target.path, "cannot open its folder");
  // Never more readable than the file it replaces, not even for a moment.
  BALLAST_TRY(StagedFile file,
              StagedFile::write(target.path, pieces, target.permissions.value_or(kOrdinary)));
  if (target.permissions) BALLAST_TRY_STATUS(file.set_permissions(*target.permissions));
  BALLAST_TRY_STATUS(file.put_in_place());
  // Some file systems have no flush for folders and say EINVAL; there is nothing to wait for then.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) {
    return files::system_error(target.path, "is written, but may be lost if the machine stops now");
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
  BALLAST_TRY(const Target target, naming(path, find_target(path)));
  return replace(target, pieces);
}

}  // namespace ballast::files
