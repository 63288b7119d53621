// All inner products of many rows: rows in panels, two of which are multiplied while both are in
// the cache as doubles. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_PRODUCT_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_PRODUCT_PANELS_INL_H_
#undef BALLAST_KERNELS_CPU_PRODUCT_PANELS_INL_H_
#else
#define BALLAST_KERNELS_CPU_PRODUCT_PANELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "ballast/kernels/cpu/product_panels.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A strip of both panels is converted to double precision once and multiplied tile by tile. Where
// a register holds only some of the eight partial sums, one part of them after the other is taken
// through the strip, so that a tile has a register for each of its products; the bits are those of
// inner_products.cc, which takes all parts in turn.
using D = hn::CappedTag<double, kSums>;
using Half = hn::Rebind<float, D>;
using Vector = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kParts = kSums / kLanes;
constexpr std::size_t kSteps = kStrip / kSums;
constexpr std::size_t kTileRows = kLanes == 8 ? 4 : 3, kTileColumns = 4;
constexpr std::size_t kStepStride = kPanel * kLanes;
constexpr std::size_t kPartSums = kPanel * kPanel * kLanes;  // of one part
static_assert(kPanel % kTileRows == 0 && kPanel % kTileColumns == 0);

HWY_INLINE Vector load(const float* from) { return hn::PromoteTo(D(), hn::LoadU(Half(), from)); }

// Converts one strip of a panel, which starts at coordinate `start`: packed[part][step][row], a
// register each. The rows are the inner loop, so that many cache lines are on their way at once.
template <bool kCentred>
HWY_INLINE void pack_strip(const float* const* rows, std::size_t row_count, const float* centre,
                           std::size_t start, double* HWY_RESTRICT packed) {
  const D d;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const std::size_t at = start + step * kSums;
    Vector origin[kParts];
    for (std::size_t part = 0; part < kParts; ++part) {
      origin[part] = kCentred ? load(centre + at + part * kLanes) : hn::Zero(d);
    }
    double* to = packed + step * kStepStride;
    for (std::size_t r = 0; r < row_count; ++r, to += kLanes) {
      // The same line of the next strip, which is there when this one has been multiplied.
      if (step % 2 == 0) __builtin_prefetch(rows[r] + at + kStrip);
      for (std::size_t part = 0; part < kParts; ++part) {
        Vector value = load(rows[r] + at + part * kLanes);
        if (kCentred) value = hn::Sub(value, origin[part]);
        hn::Store(value, d, to + part * kSteps * kStepStride);
      }
    }
  }
}

// The same for `count` coordinates, the rest of the strip being zeros.
inline void pack(const float* const* rows, std::size_t row_count, const float* centre,
                 std::size_t start, std::size_t count, double* packed) {
  if (count == kStrip && centre == nullptr) {
    return pack_strip<false>(rows, row_count, nullptr, start, packed);
  }
  if (count == kStrip) return pack_strip<true>(rows, row_count, centre, start, packed);
  HWY_ALIGN float values[kStrip] = {}, origin[kStrip] = {};
  if (centre != nullptr) std::copy_n(centre + start, count, origin);
  for (std::size_t r = 0; r < row_count; ++r) {
    std::copy_n(rows[r] + start, count, values);
    const float* row = values;
    pack_strip<true>(&row, 1, origin, 0, packed + r * kLanes);
  }
}

// One part of the products of a tile over a strip, added to their sums.
HWY_INLINE void multiply_tile(const double* HWY_RESTRICT left, const double* HWY_RESTRICT right,
                              double* HWY_RESTRICT sums) {
  const D d;
  Vector tile[kTileRows][kTileColumns];
  for (auto& row : tile) std::fill(std::begin(row), std::end(row), hn::Zero(d));
  for (std::size_t step = 0; step < kSteps; ++step) {
    Vector a[kTileRows];
    for (std::size_t r = 0; r < kTileRows; ++r) a[r] = hn::Load(d, left + r * kLanes);
    for (std::size_t c = 0; c < kTileColumns; ++c) {
      const Vector b = hn::Load(d, right + c * kLanes);
      for (std::size_t r = 0; r < kTileRows; ++r) tile[r][c] = hn::MulAdd(a[r], b, tile[r][c]);
    }
    left += kStepStride;
    right += kStepStride;
  }
  for (std::size_t r = 0; r < kTileRows; ++r) {
    for (std::size_t c = 0; c < kTileColumns; ++c) {
      double* sum = sums + (r * kPanel + c) * kLanes;
      hn::Store(hn::Add(hn::Load(d, sum), tile[r][c]), d, sum);
    }
  }
}

// All tiles of a strip of two panels; of a panel with itself those that reach the diagonal or lie
// above it.
inline void multiply_strip(const double* left, const double* right, std::size_t left_count,
                           std::size_t right_count, double* sums) {
  const bool is_square = left == right;
  for (std::size_t part = 0; part < kParts; ++part) {
    for (std::size_t r = 0; r < left_count; r += kTileRows) {
      std::size_t c = is_square ? r / kTileColumns * kTileColumns : 0;
      for (; c < right_count; c += kTileColumns) {
        multiply_tile(left + r * kLanes, right + c * kLanes, sums + (r * kPanel + c) * kLanes);
      }
    }
    left += kSteps * kStepStride;
    right += kSteps * kStepStride;
    sums += kPartSums;
  }
}

HWY_INLINE double fold_parts(const double* sums) {
  double total = 0.0;
  for (std::size_t part = 0; part < kParts; ++part, sums += kPartSums) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) total += sums[lane];
  }
  return total;
}

// Adds the products over the coordinates [begin, end) to products[r * stride + c].
// Requires: at most kPanel rows on the left, kRightPanelsMax times as many on the right.
inline void panel_products(const PanelRow& panels, std::size_t begin, std::size_t end,
                           PanelScratch& scratch, double* HWY_RESTRICT products,
                           std::size_t stride) {
  double *left = scratch.left.data(), *right = scratch.right.data();
  // What is not packed is multiplied too, into sums that nobody reads: it must only be harmless.
  std::ranges::fill(scratch.left, 0.0);
  std::ranges::fill(scratch.right, 0.0);
  std::ranges::fill(scratch.sums, 0.0);
  const auto panel_size = [&](std::size_t g) {
    return std::min(kPanel, panels.right_count - g * kPanel);
  };
  const std::size_t groups = (panels.right_count + kPanel - 1) / kPanel;
  for (std::size_t start = begin; start < end; start += kStrip) {
    const std::size_t count = std::min(kStrip, end - start);
    pack(panels.left, panels.left_count, panels.centre, start, count, left);
    for (std::size_t g = 0; g < groups; ++g) {
      const bool is_square = panels.is_square(g);
      if (!is_square) {
        pack(panels.right + g * kPanel, panel_size(g), panels.centre, start, count, right);
      }
      multiply_strip(left, is_square ? left : right, panels.left_count, panel_size(g),
                     scratch.sums.data() + g * kParts * kPartSums);
    }
  }
  for (std::size_t r = 0; r < panels.left_count; ++r) {
    for (std::size_t c = panels.is_square(0) ? r : 0; c < panels.right_count; ++c) {
      const std::size_t at = c / kPanel * kParts * kPartSums + (r * kPanel + c % kPanel) * kLanes;
      products[r * stride + c] += fold_parts(scratch.sums.data() + at);
    }
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
