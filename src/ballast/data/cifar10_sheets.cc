#include "ballast/data/cifar10_sheets.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ballast/data/cifar10.h"
#include "ballast/data/input_file.h"

namespace ballast::data {
namespace {

constexpr std::uint64_t kLabelListBytesMax = 1 << 20;  // ten times the official training labels
constexpr std::size_t kPlane = 32 * 32;
constexpr std::size_t kChannels = 3;

// Frees what libpng holds, however the reading ends.
struct Sheet {
  Sheet() { image.version = PNG_IMAGE_VERSION; }
  Sheet(const Sheet&) = delete;
  Sheet& operator=(const Sheet&) = delete;
  ~Sheet() { png_image_free(&image); }

  png_image image{};
};

Result<std::vector<std::uint8_t>> read_rgb_rows(const std::filesystem::path& path,
                                                std::size_t row_count) {
  Sheet sheet;
  if (png_image_begin_read_from_file(&sheet.image, path.c_str()) == 0) {
    return io_error(fmt::format("{}: cannot be read: {}", path.string(), sheet.image.message));
  }
  if (sheet.image.width != kPlane || sheet.image.height != row_count) {
    return invalid_argument(fmt::format("{}: {} x {} pixels instead of {} x {}", path.string(),
                                        sheet.image.width, sheet.image.height, kPlane, row_count));
  }
  sheet.image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(row_count * kPlane * kChannels);
  if (png_image_finish_read(&sheet.image, nullptr, pixels.data(), 0, nullptr) == 0) {
    return io_error(fmt::format("{}: cannot be read: {}", path.string(), sheet.image.message));
  }
  return pixels;
}

}  // namespace

Result<std::vector<std::uint8_t>> read_label_list(const std::filesystem::path& path) {
  BALLAST_TRY(InputFile file, InputFile::open(path));
  std::vector<std::uint8_t> text(std::min(file.content_bytes_max(), kLabelListBytesMax));
  BALLAST_TRY(const std::size_t length, file.read_some(text));
  text.resize(length);
  BALLAST_TRY_STATUS(file.expect_end());
  const auto list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return invalid_argument(fmt::format("{}: not a JSON list", path.string()));
  std::vector<std::uint8_t> labels;
  for (const nlohmann::json& label : list) {
    if (!label.is_number_unsigned() || label.get<std::uint64_t>() >= kCifar10ClassCount) {
      return invalid_argument(
          fmt::format("{}: entry {} is not a label", path.string(), labels.size()));
    }
    labels.push_back(label.get<std::uint8_t>());
  }
  return labels;
}

Result<std::vector<std::uint8_t>> records_of_sheet(const std::filesystem::path& path,
                                                   std::span<const std::uint8_t> labels) {
  BALLAST_TRY(const std::vector<std::uint8_t> pixels, read_rgb_rows(path, labels.size()));
  std::vector<std::uint8_t> records;
  records.reserve(labels.size() * kCifar10RecordBytes);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    records.push_back(labels[row]);
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      for (std::size_t i = 0; i < kPlane; ++i) {
        records.push_back(pixels[(row * kPlane + i) * kChannels + channel]);
      }
    }
  }
  return records;
}

}  // namespace ballast::data
