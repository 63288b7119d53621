#pragma once
// What the inner products are given: strips of coordinates and panels of rows
// (product_tiles-inl.h).

#include <cstddef>

namespace ballast::kernels::cpu {

constexpr std::size_t kStrip = 128;  // coordinates that are multiplied while they are in the cache
constexpr std::size_t kSums = 8;     // partial sums of one product
constexpr std::size_t kPanel = 30;   // rows, so that a strip of two panels fits the cache

struct Panel {
  const float* const* rows;
  std::size_t row_count;  // at most kPanel
};

// Two panels to multiply, relative to the centre (null: the origin). Of a panel with itself only
// the upper triangle is needed.
struct PanelPair {
  Panel left, right;
  const float* centre;

  bool is_square() const { return left.rows == right.rows; }
};

}  // namespace ballast::kernels::cpu
