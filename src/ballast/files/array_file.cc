#include "ballast/files/array_file.h"

#include <array>
#include <span>
#include <system_error>

#include "ballast/files/error_text.h"
#include "ballast/files/file_io.h"
#include "ballast/files/npy.h"
#include "ballast/files/safetensors.h"

namespace ballast::files {
namespace {

bool exists(std::string_view path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Result<bool> looks_like_zip(const ByteSource& source) {
  std::array<char, 4> start{};
  if (source.size() < start.size()) return false;
  BALLAST_TRY_STATUS(source.read(0, std::as_writable_bytes(std::span(start))));
  return std::string_view(start.data(), start.size()) == "PK\x03\x04";
}

Result<Array> load_array(const ArrayLocation& location) {
  BALLAST_TRY(const auto source, open_file(location.path));
  BALLAST_TRY(const bool is_npy, looks_like_npy(*source));
  if (is_npy && !location.tensor.empty()) {
    return invalid_argument("a .npy file holds one array without a name; leave out " +
                            in_quotes(":" + location.tensor));
  }
  if (is_npy) return load_npy(*source);
  BALLAST_TRY(const bool is_safetensors, looks_like_safetensors(*source));
  if (is_safetensors) return load_tensor(*source, location.tensor);
  BALLAST_TRY(const bool is_zip, looks_like_zip(*source));
  if (is_zip) {
    return unsupported("is a zip archive, as .npz and .pt files are; save one array as .npy");
  }
  return invalid_argument("is neither a .npy nor a safetensors file");
}

}  // namespace

Result<ArrayLocation> find_array(std::string_view location) {
  if (exists(location)) return ArrayLocation{.path = location, .tensor = {}};
  for (std::size_t colon = location.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = location.rfind(':', colon - 1)) {
    if (!exists(location.substr(0, colon))) continue;
    return ArrayLocation{.path = location.substr(0, colon),
                         .tensor = std::string(location.substr(colon + 1))};
  }
  return not_found(shown(location) + ": no such file");
}

Result<Array> read_array(std::string_view location) {
  BALLAST_TRY(const ArrayLocation found, find_array(location));
  return naming(found.path, load_array(found));
}

}  // namespace ballast::files
