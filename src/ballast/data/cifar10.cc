#include "ballast/data/cifar10.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ballast/data/input_file.h"

namespace ballast::data {
namespace {

// Ten times an official file.
constexpr std::uint64_t kRecordCountMax = 100'000;

struct Records {
  std::vector<std::uint8_t> pixels;
  std::vector<int> labels;
};

Result<std::uint64_t> count_records(std::uint64_t file_bytes, const std::string& name) {
  if (file_bytes == 0 || file_bytes % kCifar10RecordBytes != 0 ||
      file_bytes / kCifar10RecordBytes > kRecordCountMax) {
    return invalid_argument(fmt::format("{}: {} bytes are not 1 to {} records of {} bytes", name,
                                        file_bytes, kRecordCountMax, kCifar10RecordBytes));
  }
  return file_bytes / kCifar10RecordBytes;
}

Status append_records(const std::filesystem::path& path, Records& records) {
  BALLAST_TRY(InputFile file, InputFile::open(path));
  BALLAST_TRY(const std::uint64_t count, count_records(file.content_bytes_max(), path.string()));
  std::vector<std::uint8_t> record(kCifar10RecordBytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    BALLAST_TRY_STATUS(file.read_exactly(record));
    records.labels.push_back(record[0]);
    records.pixels.insert(records.pixels.end(), record.begin() + 1, record.end());
  }
  return file.expect_end();
}

}  // namespace

Result<Dataset> read_cifar10(std::span<const std::filesystem::path> paths,
                             Normalization normalization) {
  Records records;
  for (const std::filesystem::path& path : paths) {
    BALLAST_TRY_STATUS(append_records(path, records));
  }
  return Dataset::from_pixels(kCifar10Shape, std::move(records.pixels), std::move(records.labels),
                              kCifar10ClassCount, std::move(normalization));
}

}  // namespace ballast::data
