#pragma once
// A data set that any model learns at once, as files, for tests of whole runs.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ballast/files/npy.h"

namespace ballast::experiment {

// Sample i belongs to class i mod 4 and has a one in that place: x.npy and y.npy.
inline void write_tiny_data(const std::filesystem::path& folder, std::size_t samples) {
  constexpr std::size_t kClasses = 4;
  std::vector<float> images(samples * kClasses);
  std::vector<std::int64_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    images[i * kClasses + i % kClasses] = 1.0F;
    labels[i] = static_cast<std::int64_t>(i % kClasses);
  }
  ASSERT_TRUE(
      files::write_npy(folder / "x.npy", {{samples, kClasses}, std::span<const float>(images)}));
  ASSERT_TRUE(
      files::write_npy(folder / "y.npy", {{samples}, std::span<const std::int64_t>(labels)}));
}

}  // namespace ballast::experiment
