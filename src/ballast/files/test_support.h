#pragma once
// What the tests of this room share.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/files/array.h"

namespace ballast::files {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t pending = 0;
  int bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    pending = pending << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(pending >> bits & 0xFF);
  }
  return bytes;
}

template <typename T>
std::string refusal(const Result<T>& result) {
  EXPECT_FALSE(result.has_value()) << "accepted";
  return result ? "" : result.error().message;
}

template <typename T>
std::vector<T> values_of(const Array& array) {
  const auto* values = std::get_if<AlignedVector<T>>(&array.values);
  EXPECT_NE(values, nullptr) << "holds " << element_name(array.type());
  if (values == nullptr) return {};
  return {values->begin(), values->end()};
}

// A folder of its own for one test, gone afterwards.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("ballast_" + std::to_string(::getpid()) + "_" + test->name());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path in_folder(std::string_view name) const { return folder_ / name; }

  std::filesystem::path make_file(std::string_view name, std::string_view content) const {
    std::ofstream(in_folder(name), std::ios::binary) << content;
    return in_folder(name);
  }

  static std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace ballast::files
