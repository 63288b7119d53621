#include "ballast/files/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ballast/files/error_text.h"
#include "ballast/files/npy_header.h"
#include "ballast/files/stored_values.h"

namespace ballast::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;

// Version 2.0 can have longer headers, but only records, which are refused, ever need them.
constexpr std::size_t kHeaderBytesMax = 65535;

// numpy.save() starts the data on such a boundary.
constexpr std::size_t kDataAlignment = 64;

tl::unexpected<Error> truncated(std::string_view part, std::size_t needed, std::size_t present) {
  return invalid_argument(
      fmt::format("truncated: {} needs {} bytes but only {} are there; copy or save it again", part,
                  needed, present));
}

// The text of the header and the place where the data starts.
struct Preamble {
  std::string header;
  std::size_t data_offset = 0;
};

// The width in bytes of the header's length, which depends on the version.
Result<std::size_t> read_length_width(const ByteSource& source) {
  std::array<std::byte, kVersionBytes> version;
  if (source.size() < kMagic.size() + version.size()) {
    return truncated("the start of a .npy file", kMagic.size() + version.size(), source.size());
  }
  BALLAST_TRY_STATUS(source.read(kMagic.size(), version));
  const auto [major, minor] = version;
  if (minor == std::byte{0} && major == std::byte{1}) return 2;
  if (minor == std::byte{0} && (major == std::byte{2} || major == std::byte{3})) return 4;
  return unsupported(fmt::format("has version {}.{} of the .npy format; 1.0, 2.0 and 3.0 are read",
                                 std::to_integer<int>(major), std::to_integer<int>(minor)));
}

Result<Preamble> read_preamble(const ByteSource& source) {
  BALLAST_TRY(const std::size_t width, read_length_width(source));
  Preamble preamble{.header = {}, .data_offset = kMagic.size() + kVersionBytes + width};
  if (source.size() < preamble.data_offset) {
    return truncated("the start of a .npy file", preamble.data_offset, source.size());
  }
  std::array<std::byte, 4> length_bytes{};
  BALLAST_TRY_STATUS(
      source.read(preamble.data_offset - width, std::span(length_bytes).first(width)));
  const std::size_t length = std::bit_cast<std::uint32_t>(length_bytes);
  if (length > kHeaderBytesMax) {
    return unsupported(
        fmt::format("the header of {} bytes is longer than any plain array needs ({})", length,
                    kHeaderBytesMax));
  }
  if (length > source.size() - preamble.data_offset) {
    return truncated("the header", length, source.size() - preamble.data_offset);
  }
  preamble.header.resize(length);
  BALLAST_TRY_STATUS(
      source.read(preamble.data_offset, std::as_writable_bytes(std::span(preamble.header))));
  preamble.data_offset += length;
  return preamble;
}

// Everything before the data: the header is padded with spaces and ends with a new line.
std::string version_1_preamble(std::string header) {
  constexpr std::size_t kLengthBytes = 2;
  const std::size_t unpadded =
      kMagic.size() + kVersionBytes + kLengthBytes + header.size() + std::size_t{1};
  const std::size_t excess = unpadded % kDataAlignment;
  header.append(excess == 0 ? 0 : kDataAlignment - excess, ' ').push_back('\n');
  const std::size_t length = header.size();
  return std::string(kMagic) + '\x01' + '\x00' + static_cast<char>(length & 0xFF) +
         static_cast<char>(length >> 8) + header;
}

// The number of elements, when they fill the given bytes exactly.
Result<std::size_t> count_elements(const NpyHeader& header, std::size_t data_bytes) {
  const auto count = element_count(header.shape);
  std::size_t needed = 0;
  if (!count || __builtin_mul_overflow(*count, header.type.bytes(), &needed)) {
    return invalid_argument(fmt::format("the shape {} has more elements than memory can hold",
                                        to_string(header.shape)));
  }
  const std::string what = fmt::format("{} of shape {}", header.type.name, to_string(header.shape));
  if (needed > data_bytes) return truncated(what, needed, data_bytes);
  if (needed < data_bytes) {
    return invalid_argument(fmt::format("{} needs {} bytes but {} follow the header; save it again",
                                        what, needed, data_bytes));
  }
  return *count;
}

// The columns of a matrix stand one after the other; afterwards its rows do. Works on tiles, so
// that both sides stay in the cache.
template <typename T>
Status to_row_major(AlignedVector<T>& values, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kTile = 32;
  AlignedVector<T> result;
  BALLAST_TRY_STATUS(try_resize(result, values.size()));
  for (std::size_t top = 0; top < rows; top += kTile) {
    for (std::size_t left = 0; left < columns; left += kTile) {
      for (std::size_t i = top; i < std::min(rows, top + kTile); ++i) {
        for (std::size_t j = left; j < std::min(columns, left + kTile); ++j) {
          result[i * columns + j] = values[j * rows + i];
        }
      }
    }
  }
  values = std::move(result);
  return {};
}

Status undo_fortran_order(Array& array) {
  if (array.shape.size() < 2) return {};
  if (array.shape.size() > 2) {
    return unsupported(
        "Fortran order is supported up to two dimensions; save numpy.ascontiguousarray of it");
  }
  const auto transpose = [&](auto& values) {
    return to_row_major(values, array.shape[0], array.shape[1]);
  };
  return std::visit(transpose, array.values);
}

}  // namespace

Result<bool> looks_like_npy(const ByteSource& source) {
  std::array<char, kMagic.size()> start{};
  if (source.size() < start.size()) return false;
  BALLAST_TRY_STATUS(source.read(0, std::as_writable_bytes(std::span(start))));
  return std::string_view(start.data(), start.size()) == kMagic;
}

Result<Array> load_npy(const ByteSource& source) {
  BALLAST_TRY(const bool is_npy, looks_like_npy(source));
  if (!is_npy) return invalid_argument("is not a .npy file; make one with numpy.save");
  BALLAST_TRY(const Preamble preamble, read_preamble(source));
  BALLAST_TRY(NpyHeader header, parse_npy_header(preamble.header));
  BALLAST_TRY(const std::size_t count,
              count_elements(header, source.size() - preamble.data_offset));
  BALLAST_TRY(Values values, load_values(source, {.type = header.type,
                                                  .offset = preamble.data_offset,
                                                  .count = count,
                                                  .byte_order = header.byte_order}));
  Array array{.shape = std::move(header.shape), .values = std::move(values)};
  if (header.is_fortran_order) BALLAST_TRY_STATUS(undo_fortran_order(array));
  return array;
}

Result<Array> parse_npy(std::span<const std::byte> bytes) { return load_npy(MemorySource(bytes)); }

Result<Array> read_npy(const std::filesystem::path& path) {
  const auto read = [&]() -> Result<Array> {
    BALLAST_TRY(const auto source, open_file(path));
    return load_npy(*source);
  };
  return naming(path, read());
}

Status write_npy(const std::filesystem::path& path, const ArrayView& array) {
  const std::string preamble = version_1_preamble(npy_dictionary(array.type(), array.shape));
  const std::array pieces = {std::as_bytes(std::span<const char>(preamble)), array.bytes()};
  return write_file_atomically(path, pieces);
}

}  // namespace ballast::files
