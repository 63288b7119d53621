#include "ballast/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "ballast/data/input_file.h"

namespace ballast::data {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kExtentCountMax = 3;
constexpr int kClassCount = 10;

// Twenty times MNIST. A gzip file may unpack to a thousand times its size, so the size of the file
// alone does not keep a false header from asking for all memory.
constexpr std::uint64_t kValueBytesMax = std::uint64_t{1} << 30;

std::uint32_t big_endian(std::span<const std::uint8_t, 4> bytes) noexcept {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

Result<std::vector<std::uint32_t>> read_extents(InputFile& file, const std::string& name) {
  std::array<std::uint8_t, 4> word{};
  BALLAST_TRY_STATUS(file.read_exactly(word));
  const std::size_t extent_count = word[3];
  if (word[0] != 0 || word[1] != 0 || word[2] != kUnsignedByte || extent_count == 0 ||
      extent_count > kExtentCountMax) {
    return invalid_argument(fmt::format(
        "{}: not an idx file of unsigned bytes (it starts with {:02x} {:02x} {:02x} {:02x})", name,
        word[0], word[1], word[2], word[3]));
  }
  std::vector<std::uint32_t> extents(extent_count);
  for (std::uint32_t& extent : extents) {
    BALLAST_TRY_STATUS(file.read_exactly(word));
    extent = big_endian(word);
  }
  return extents;
}

// The product of the extents, as long as it stays within the limit.
Result<std::size_t> count_values(std::span<const std::uint32_t> extents, std::uint64_t limit,
                                 const std::string& name) {
  std::uint64_t count = 1;
  for (const std::uint32_t extent : extents) {
    if (extent != 0 && count > limit / extent) {
      return invalid_argument(
          fmt::format("{}: its header promises more data than the file may hold", name));
    }
    count *= extent;
  }
  return count;
}

}  // namespace

Result<IdxArray> read_idx(const std::filesystem::path& path) {
  const std::string name = path.string();
  BALLAST_TRY(InputFile file, InputFile::open(path));
  IdxArray array;
  BALLAST_TRY(array.extents, read_extents(file, name));
  const std::uint64_t limit = std::min(file.content_bytes_max(), kValueBytesMax);
  BALLAST_TRY(const std::size_t count, count_values(array.extents, limit, name));
  array.values.resize(count);
  BALLAST_TRY_STATUS(file.read_exactly(array.values));
  BALLAST_TRY_STATUS(file.expect_end());
  return array;
}

Result<Dataset> read_idx_dataset(const IdxPaths& paths, Normalization normalization) {
  BALLAST_TRY(const IdxArray labels, read_idx(paths.labels));
  BALLAST_TRY(IdxArray images, read_idx(paths.images));
  if (labels.extents.size() != 1 || images.extents.size() != 3) {
    return invalid_argument(
        fmt::format("{} and {}: expected images with 3 extents and labels with 1, found {} and {}",
                    paths.images.string(), paths.labels.string(), images.extents.size(),
                    labels.extents.size()));
  }
  if (labels.extents[0] != images.extents[0]) {
    return invalid_argument(fmt::format("{} has {} images but {} has {} labels",
                                        paths.images.string(), images.extents[0],
                                        paths.labels.string(), labels.extents[0]));
  }
  const Shape shape{.channels = 1, .height = images.extents[1], .width = images.extents[2]};
  return Dataset::from_pixels(shape, std::move(images.values),
                              {labels.values.begin(), labels.values.end()}, kClassCount,
                              std::move(normalization));
}

}  // namespace ballast::data
