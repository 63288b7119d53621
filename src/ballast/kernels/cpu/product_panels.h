#pragma once
// What the inner products are given: strips of coordinates, panels of rows, and the memory to
// multiply panels in (product_panels-inl.h).

#include <cstddef>

#include "ballast/base/aligned.h"

namespace ballast::kernels::cpu {

constexpr std::size_t kStrip = 128;  // coordinates that are multiplied while they are in the cache
constexpr std::size_t kSums = 8;     // partial sums of one product
constexpr std::size_t kPanel = 48;   // rows; tiles of any instruction set fill it
constexpr std::size_t kRightPanelsMax = 3;  // whose sums fit the second-level cache

// One panel of rows to multiply with some others, relative to the centre (null: the origin).
struct PanelRow {
  const float* const* left;
  const float* const* right;  // if it begins at left, only the upper triangle of that is needed
  std::size_t left_count, right_count;
  const float* centre;

  bool is_square(std::size_t panel) const { return panel == 0 && left == right; }
};

// Memory of one thread.
struct PanelScratch {
  AlignedVector<double> left, right, sums;

  PanelScratch()
      : left(kPanel * kStrip),
        right(kPanel * kStrip),
        sums(kRightPanelsMax * kPanel * kPanel * kSums) {}
};

}  // namespace ballast::kernels::cpu
