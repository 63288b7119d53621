#pragma once
// Limits on what a file or a specification may claim; generous for anything this program can train.

#include <cstddef>

namespace ballast::data {

inline constexpr std::size_t kExtentMax = 1 << 20;  // channels, height or width of one sample
inline constexpr std::size_t kSampleCountMax = 0xFFFF'FFFF;
inline constexpr int kClassCountMax = 1 << 16;
inline constexpr std::size_t kWorkerCountMax = 1 << 16;

}  // namespace ballast::data
