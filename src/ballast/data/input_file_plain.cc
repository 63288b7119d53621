#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "ballast/data/input_file.h"

namespace ballast::data {
namespace {

void close(void* file) { std::fclose(static_cast<std::FILE*>(file)); }

bool starts_like_gzip(std::FILE* file) {
  const bool is_gzip = std::getc(file) == 0x1f && std::getc(file) == 0x8b;
  std::rewind(file);
  return is_gzip;
}

}  // namespace

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    return not_found(fmt::format("{}: no such file", path.string()));
  }
  const std::uint64_t file_bytes = std::filesystem::file_size(path, failure);
  std::FILE* file = failure ? nullptr : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return io_error(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  }
  Handle handle(file, close);
  if (starts_like_gzip(file)) {
    return unsupported(fmt::format(
        "{}: this build has no zlib and cannot unpack it; unpack it with gunzip", path.string()));
  }
  return InputFile(path.string(), file_bytes, std::move(handle));
}

Result<std::size_t> InputFile::read_some(std::span<std::uint8_t> buffer) {
  auto* file = static_cast<std::FILE*>(handle_.get());
  const std::size_t filled = std::fread(buffer.data(), 1, buffer.size(), file);
  if (std::ferror(file) != 0) return io_error(fmt::format("{}: cannot be read", name_));
  return filled;
}

}  // namespace ballast::data
