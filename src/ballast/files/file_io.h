#pragma once
// Bytes in from files, bytes out to files.
//
// Files are read by pread() straight into the memory where the bytes will stay. Mapping them
// instead would save no copy, because data inside a file seldom starts on a cache line, and would
// turn a file that shrinks while it is read into a SIGBUS instead of an error.

#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>

#include "ballast/base/aligned.h"
#include "ballast/base/error.h"

namespace ballast::files {

// Bytes that can be read at any place. The readers of this room see only this, so that they do the
// same on a file, in a test and under the fuzzer.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::size_t size() const noexcept = 0;

  // Fills `out` with the bytes from `offset` on.
  // Requires: offset + out.size() <= size().
  virtual Status read(std::size_t offset, std::span<std::byte> out) const = 0;
};

// Bytes in memory that somebody else owns.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t size() const noexcept override { return bytes_.size(); }
  Status read(std::size_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
};

// Opens a regular file; anything else (a folder, a pipe, a device) is refused without blocking.
// Its errors do not name the file: the caller does, as for every error of a reader.
Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path);

// Makes room for `count` elements. Too little memory is an error, not an exception.
template <typename T>
Status try_resize(AlignedVector<T>& elements, std::size_t count) {
  try {
    elements.resize(count);
  } catch (const std::exception&) {
    return unsupported("does not fit into memory; use a machine with more, or split the file");
  }
  return {};
}

// The whole content of a regular file.
Result<AlignedVector<std::byte>> read_file(const std::filesystem::path& path);

// Replaces the file by the concatenation of the pieces, or creates it: all of it or nothing, also
// when the machine stops in the middle. The bytes go to a temporary file in the same folder, which
// is flushed to the disk and renamed. An existing file keeps its permissions; of a symbolic link,
// the file behind it is replaced; what is not a regular file is refused.
//
// On an error the old file is untouched and the temporary one removed. The one exception is a
// failing flush of the folder after the rename, whose message says that the new file is in place.
Status write_file_atomically(const std::filesystem::path& path,
                             std::span<const std::span<const std::byte>> pieces);

}  // namespace ballast::files
