#pragma once
// Small PNG sheets for this room's tests.

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace ballast::data {

inline void write_png_file(const std::filesystem::path& path, std::uint32_t width,
                           std::uint32_t height, std::span<const std::uint8_t> rgb) {
  ASSERT_EQ(rgb.size(), std::size_t{3} * width * height);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  ASSERT_NE(png_image_write_to_file(&image, path.c_str(), 0, rgb.data(), 0, nullptr), 0);
}

}  // namespace ballast::data
