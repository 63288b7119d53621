#include "ballast/files/text_file.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <system_error>

#include "ballast/files/error_text.h"
#include "ballast/files/file_io.h"

namespace ballast::files {

Result<std::string> read_text(const std::filesystem::path& path, std::size_t bytes_max) {
  const auto read_all = [&]() -> Result<std::string> {
    BALLAST_TRY(const auto source, open_file(path));
    if (source->size() > bytes_max) {
      return invalid_argument(fmt::format("has {} bytes, more than the {} allowed; remove it",
                                          source->size(), bytes_max));
    }
    std::string text(source->size(), '\0');
    BALLAST_TRY_STATUS(source->read(0, std::as_writable_bytes(std::span(text))));
    return text;
  };
  return naming(path, read_all());
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  const std::array pieces = {std::as_bytes(std::span(text))};
  return write_file_atomically(path, pieces);
}

Status make_folder(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) {
    return io_error(
        fmt::format("{}: cannot create this folder: {}", path.string(), failure.message()));
  }
  return {};
}

}  // namespace ballast::files
