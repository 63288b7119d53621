#include "ballast/store/values_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "ballast/files/file_io.h"
#include "ballast/store/checksum.h"

namespace ballast::store {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // stays in the cache between two passes

struct Header {
  std::array<char, 8> magic = {'B', 'A', 'L', 'L', 'A', 'S', 'T', 'V'};
  std::uint32_t version = 1;
  std::uint32_t unused = 0;
  std::uint64_t value_count = 0;
  std::uint64_t unused_too = 0;

  bool operator==(const Header&) const = default;
};
static_assert(sizeof(Header) == 32);

Status append(NewFile& file, Checksum& checksum, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto chunk = bytes.first(std::min(bytes.size(), kChunkBytes));
    checksum.add(chunk);
    BALLAST_TRY_STATUS(file.append(chunk));
    bytes = bytes.subspan(chunk.size());
  }
  return {};
}

Status read(const files::ByteSource& source, Checksum& checksum, std::size_t offset,
            std::span<std::byte> out) {
  while (!out.empty()) {
    const auto chunk = out.first(std::min(out.size(), kChunkBytes));
    BALLAST_TRY_STATUS(source.read(offset, chunk));
    checksum.add(chunk);
    offset += chunk.size();
    out = out.subspan(chunk.size());
  }
  return {};
}

Result<std::unique_ptr<files::ByteSource>> open(const FileSystem& disk,
                                                const std::filesystem::path& path,
                                                std::uint64_t bytes) {
  BALLAST_TRY(auto source, disk.open(path));
  if (source->size() == bytes) return source;
  return io_error(fmt::format("has {} bytes instead of {}", source->size(), bytes));
}

Status compare(const Checksum& checksum, const FileFacts& facts) {
  if (checksum.text() == facts.checksum) return {};
  return io_error("is damaged: its checksum is wrong");
}

Status try_resize(std::vector<float>& values, std::uint64_t count) {
  try {
    values.resize(count);
  } catch (const std::exception&) {
    return unsupported("does not fit into memory; use a machine with more");
  }
  return {};
}

Result<std::vector<std::vector<float>>> read_pieces(const FileSystem& disk,
                                                    const std::filesystem::path& path,
                                                    const FileFacts& facts,
                                                    std::initializer_list<std::uint64_t> counts) {
  Header expected;
  expected.value_count = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  BALLAST_TRY(const auto source, open(disk, path, values_file_bytes(expected.value_count)));
  Checksum checksum;
  Header header;
  BALLAST_TRY_STATUS(read(*source, checksum, 0, std::as_writable_bytes(std::span(&header, 1))));
  if (header != expected) return io_error("is damaged: its header is wrong");
  std::size_t offset = sizeof(Header);
  std::vector<std::vector<float>> pieces;
  for (const std::uint64_t count : counts) {
    std::vector<float>& piece = pieces.emplace_back();
    BALLAST_TRY_STATUS(try_resize(piece, count));
    BALLAST_TRY_STATUS(read(*source, checksum, offset, std::as_writable_bytes(std::span(piece))));
    offset += count * sizeof(float);
  }
  BALLAST_TRY_STATUS(compare(checksum, facts));
  return pieces;
}

Status verify(const FileSystem& disk, const std::filesystem::path& path, const FileFacts& facts) {
  BALLAST_TRY(const auto source, open(disk, path, facts.bytes));
  Checksum checksum;
  std::vector<std::byte> buffer(kChunkBytes);
  for (std::size_t offset = 0; offset < source->size(); offset += kChunkBytes) {
    const auto chunk = std::span(buffer).first(std::min(kChunkBytes, source->size() - offset));
    BALLAST_TRY_STATUS(read(*source, checksum, offset, chunk));
  }
  return compare(checksum, facts);
}

template <typename T>
Result<T> naming(const std::filesystem::path& path, Result<T> result) {
  if (!result) result.error().message = path.string() + ": " + result.error().message;
  return result;
}

}  // namespace

std::uint64_t values_file_bytes(std::uint64_t value_count) noexcept {
  return sizeof(Header) + value_count * sizeof(float);
}

Result<FileFacts> write_values(FileSystem& disk, const std::filesystem::path& path,
                               std::initializer_list<std::span<const float>> pieces) {
  Header header;
  for (const auto piece : pieces) header.value_count += piece.size();
  FileFacts facts = {.bytes = values_file_bytes(header.value_count), .checksum = {}};
  BALLAST_TRY(const auto file, disk.create(path, facts.bytes));
  Checksum checksum;
  BALLAST_TRY_STATUS(append(*file, checksum, std::as_bytes(std::span(&header, 1))));
  for (const auto piece : pieces) BALLAST_TRY_STATUS(append(*file, checksum, std::as_bytes(piece)));
  BALLAST_TRY_STATUS(file->finish());
  facts.checksum = checksum.text();
  return facts;
}

Result<std::vector<std::vector<float>>> read_values(const FileSystem& disk,
                                                    const std::filesystem::path& path,
                                                    const FileFacts& facts,
                                                    std::initializer_list<std::uint64_t> counts) {
  return naming(path, read_pieces(disk, path, facts, counts));
}

Status verify_file(const FileSystem& disk, const std::filesystem::path& path,
                   const FileFacts& facts) {
  return naming(path, verify(disk, path, facts));
}

}  // namespace ballast::store
