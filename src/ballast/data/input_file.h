#pragma once
// A file read once from front to back; a gzip file is recognised by its first bytes and unpacked on
// the way. Builds without zlib read plain files only.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ballast/base/error.h"

namespace ballast::data {

class InputFile {
 public:
  // Refuses what is not a regular file.
  static Result<InputFile> open(const std::filesystem::path& path);

  // What the whole content can be at most: the size of a plain file, and for a gzip file that size
  // times the best ratio the format can reach. To be asked before memory is set aside.
  std::uint64_t content_bytes_max() const noexcept { return content_bytes_max_; }

  // Fills the buffer as far as the content goes; returns the number of bytes written. A damaged
  // gzip file is an error.
  Result<std::size_t> read_some(std::span<std::uint8_t> buffer);

  // Fills the whole buffer; a shorter content is an error.
  Status read_exactly(std::span<std::uint8_t> buffer);

  // Succeeds only if nothing is left to read (and, for gzip, the content's checksum holds).
  Status expect_end();

 private:
  // Owns the stream of whichever library reads it.
  using Handle = std::unique_ptr<void, void (*)(void*)>;

  InputFile(std::string name, std::uint64_t content_bytes_max, Handle handle) noexcept
      : name_(std::move(name)), content_bytes_max_(content_bytes_max), handle_(std::move(handle)) {}

  std::string name_;
  std::uint64_t content_bytes_max_;
  Handle handle_;
};

}  // namespace ballast::data
