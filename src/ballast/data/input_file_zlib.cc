#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>

#include "ballast/data/input_file.h"

namespace ballast::data {
namespace {

// Deflate spends at least two bits on a copy of at most 258 bytes.
constexpr std::uint64_t kDeflateRatioMax = 258 * 8 / 2;

constexpr unsigned kBufferBytes = 1 << 17;

void close(void* file) { gzclose(static_cast<gzFile>(file)); }

}  // namespace

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    return not_found(fmt::format("{}: no such file", path.string()));
  }
  const std::uint64_t file_bytes = std::filesystem::file_size(path, failure);
  gzFile file = failure ? nullptr : gzopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return io_error(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  }
  Handle handle(file, close);
  gzbuffer(file, kBufferBytes);
  const bool is_plain = gzdirect(file) != 0;
  return InputFile(path.string(), is_plain ? file_bytes : file_bytes * kDeflateRatioMax,
                   std::move(handle));
}

Result<std::size_t> InputFile::read_some(std::span<std::uint8_t> buffer) {
  auto* file = static_cast<gzFile>(handle_.get());
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const std::size_t piece = std::min<std::size_t>(buffer.size() - filled, INT_MAX);
    const int got = gzread(file, buffer.data() + filled, static_cast<unsigned>(piece));
    int code = Z_OK;
    const char* reason = gzerror(file, &code);
    // A gzip file cut short is reported only here: gzread hands out what there was.
    if (got < 0 || code != Z_OK) {
      return io_error(fmt::format("{}: cannot be read: {}", name_, reason));
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

}  // namespace ballast::data
