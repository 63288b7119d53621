// All inner products of two panels of rows, a tile of pairs at a time in registers. Included once
// per instruction set.

#if defined(BALLAST_KERNELS_CPU_PRODUCT_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_PRODUCT_TILES_INL_H_
#undef BALLAST_KERNELS_CPU_PRODUCT_TILES_INL_H_
#else
#define BALLAST_KERNELS_CPU_PRODUCT_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "ballast/kernels/cpu/lines_ahead.h"
#include "ballast/kernels/cpu/product_panels.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kSums>;
using Half = hn::Rebind<float, D>;
using Vector = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kParts = kSums / kLanes;

HWY_INLINE Vector load(const float* from) { return hn::PromoteTo(D(), hn::LoadU(Half(), from)); }

template <bool kCentred>
HWY_INLINE Vector load(const float* from, Vector origin) {
  return kCentred ? hn::Sub(load(from), origin) : load(from);
}

// Rows per side of a tile: its sums and the rows of one side fill the registers. Some tiles have
// one row less on a side, so that few rows too are divided without much of a rest.
constexpr std::size_t kTile = kLanes == 8 ? 5 : 3;
constexpr std::size_t kLess = kTile - 1;

// The rows of a panel in groups of kTile or kLess; a panel of too few repeats its last row.
struct TileGroups {
  static constexpr std::size_t kCountMax = (kPanel + kTile - 1) / kTile;
  const float* rows[kPanel];
  std::size_t count;                 // of groups
  std::size_t begin[kCountMax + 1];  // the first row of each

  explicit TileGroups(const Panel& panel) : count((panel.row_count + kTile - 1) / kTile) {
    const std::size_t row_count = std::max(panel.row_count, count * kLess);
    std::copy_n(panel.rows, panel.row_count, rows);
    std::fill(rows + panel.row_count, rows + row_count, panel.rows[panel.row_count - 1]);
    for (std::size_t g = 0; g <= count; ++g) begin[g] = g * row_count / count;
  }

  bool is_full(std::size_t group) const { return begin[group + 1] - begin[group] == kTile; }
};

// A tile over the strip that starts at coordinate `start`. Meanwhile two lines of each row, at
// these coordinates, are asked for.
struct TileStrip {
  const float* const* left;
  const float* const* right;
  const float* centre;
  std::size_t start, left_ahead, right_ahead;
};

template <std::size_t kRows>
HWY_INLINE void fetch_lines(const float* const* rows, std::size_t at) {
  for (std::size_t r = 0; r < kRows; ++r) {
    __builtin_prefetch(rows[r] + at);
    __builtin_prefetch(rows[r] + at + kLine);
  }
}

// sums[r][c] += <left_r, right_c>. Where a register holds only some of the eight partial sums, one
// part of them after the other is taken through the strip. On the diagonal of the matrix the right
// rows are the left ones, and only products with r <= c are needed.
template <std::size_t kRows, std::size_t kColumns, bool kIsDiagonal, bool kCentred>
void multiply_tile(const TileStrip& strip, double* HWY_RESTRICT sums) {
  const D d;
  fetch_lines<kRows>(strip.left, strip.left_ahead);
  if (!kIsDiagonal) fetch_lines<kColumns>(strip.right, strip.right_ahead);
  for (std::size_t part = 0; part < kParts; ++part) {
    Vector tile[kRows][kColumns];
    for (auto& row : tile) std::fill(std::begin(row), std::end(row), hn::Zero(d));
    for (std::size_t step = 0; step < kStrip / kSums; ++step) {
      const std::size_t at = strip.start + step * kSums + part * kLanes;
      const Vector origin = kCentred ? load(strip.centre + at) : hn::Zero(d);
      Vector a[kRows];
      for (std::size_t r = 0; r < kRows; ++r) a[r] = load<kCentred>(strip.left[r] + at, origin);
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Vector b = kIsDiagonal ? a[c] : load<kCentred>(strip.right[c] + at, origin);
        for (std::size_t r = 0; r < kRows; ++r) {
          if (!kIsDiagonal || r <= c) tile[r][c] = hn::MulAdd(a[r], b, tile[r][c]);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        if (kIsDiagonal && r > c) continue;
        double* sum = sums + (r * kPanel + c) * kSums + part * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), tile[r][c]), d, sum);
      }
    }
  }
}

// The tiles of full groups and of those that have one row less.
template <bool kCentred>
struct Tiles {
  using Multiply = void (*)(const TileStrip&, double*);
  static constexpr Multiply kAny[2][2] = {{&multiply_tile<kLess, kLess, false, kCentred>,
                                           &multiply_tile<kLess, kTile, false, kCentred>},
                                          {&multiply_tile<kTile, kLess, false, kCentred>,
                                           &multiply_tile<kTile, kTile, false, kCentred>}};
  static constexpr Multiply kDiagonal[2] = {&multiply_tile<kLess, kLess, true, kCentred>,
                                            &multiply_tile<kTile, kTile, true, kCentred>};
};

// Adds the products over the whole strips of [begin, end) to sums, kPanel x kPanel x kSums. Which
// lines of the next strip are asked for with a pair of groups follows from their numbers, so that
// from four groups on each line's turn comes.
template <bool kCentred>
HWY_INLINE void multiply_panels(const PanelPair& pair, std::size_t begin, std::size_t end,
                                double* HWY_RESTRICT sums) {
  const TileGroups left(pair.left), right(pair.right);
  const bool is_square = pair.is_square();
  for (std::size_t start = begin; start < end; start += kStrip) {
    const auto ahead = [&](std::size_t number) {
      return start + kStrip + 2 * number * kLine % kStrip;
    };
    for (std::size_t g = 0; g < left.count; ++g) {
      for (std::size_t h = is_square ? g : 0; h < right.count; ++h) {
        const auto multiply = is_square && g == h
                                  ? Tiles<kCentred>::kDiagonal[left.is_full(g)]
                                  : Tiles<kCentred>::kAny[left.is_full(g)][right.is_full(h)];
        multiply({left.rows + left.begin[g], right.rows + right.begin[h], pair.centre, start,
                  ahead(h), ahead(g)},
                 sums + (left.begin[g] * kPanel + right.begin[h]) * kSums);
      }
    }
  }
}

inline void panel_products(const PanelPair& pair, std::size_t begin, std::size_t end,
                           double* HWY_RESTRICT sums) {
  if (pair.centre == nullptr) {
    multiply_panels<false>(pair, begin, end, sums);
  } else {
    multiply_panels<true>(pair, begin, end, sums);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
