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

// One tile: the rows on its sides, and the place of its sums.
struct Tile {
  const float* const* left;
  const float* const* right;
  double* sums;
};

// The strip that starts at a coordinate, relative to the centre.
struct TileStrip {
  std::size_t start;
  const float* centre;
};

// Asks for the next strip of all rows, of some of them with each tile.
class RowsAhead {
 public:
  RowsAhead(const PanelPair& pair, std::size_t tiles) : count_(pair.left.row_count) {
    std::copy_n(pair.left.rows, count_, rows_);
    if (!pair.is_square()) {
      std::copy_n(pair.right.rows, pair.right.row_count, rows_ + count_);
      count_ += pair.right.row_count;
    }
    per_tile_ = (count_ + tiles - 1) / tiles;
  }

  // What comes next starts at this coordinate.
  void begin_at(std::size_t start) {
    start_ = start;
    next_ = 0;
  }

  HWY_INLINE void fetch_some() {
    const std::size_t end = std::min(next_ + per_tile_, count_);
    for (; next_ < end; ++next_) {
      for (std::size_t line = 0; line < kStrip; line += kLine) {
        __builtin_prefetch(rows_[next_] + start_ + line);
      }
    }
  }

 private:
  const float* rows_[2 * kPanel];
  std::size_t count_, per_tile_ = 0, start_ = 0, next_ = 0;
};

// sums[r][c] += <left_r, right_c>. Where a register holds only some of the eight partial sums, one
// part of them after the other is taken through the strip. On the diagonal of the matrix the right
// rows are the left ones, and only products with r <= c are needed.
template <std::size_t kRows, std::size_t kColumns, bool kIsDiagonal, bool kCentred>
HWY_INLINE void multiply_tile(const Tile& of, const TileStrip& strip) {
  const D d;
  for (std::size_t part = 0; part < kParts; ++part) {
    Vector tile[kRows][kColumns];
    for (auto& row : tile) std::fill(std::begin(row), std::end(row), hn::Zero(d));
    for (std::size_t step = 0; step < kStrip / kSums; ++step) {
      const std::size_t at = strip.start + step * kSums + part * kLanes;
      const Vector origin = kCentred ? load(strip.centre + at) : hn::Zero(d);
      Vector a[kRows];
      for (std::size_t r = 0; r < kRows; ++r) a[r] = load<kCentred>(of.left[r] + at, origin);
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Vector b = kIsDiagonal ? a[c] : load<kCentred>(of.right[c] + at, origin);
        for (std::size_t r = 0; r < kRows; ++r) {
          if (!kIsDiagonal || r <= c) tile[r][c] = hn::MulAdd(a[r], b, tile[r][c]);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        if (kIsDiagonal && r > c) continue;
        double* sum = of.sums + (r * kPanel + c) * kSums + part * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), tile[r][c]), d, sum);
      }
    }
  }
}

// The tiles [tile, end), all of one shape.
template <std::size_t kRows, std::size_t kColumns, bool kIsDiagonal, bool kCentred>
void multiply_tiles(const Tile* tile, const Tile* end, const TileStrip& strip, RowsAhead& ahead) {
  for (; tile != end; ++tile) {
    ahead.fetch_some();
    multiply_tile<kRows, kColumns, kIsDiagonal, kCentred>(*tile, strip);
  }
}

// The tiles of two panels in the order of their shapes, so that there are few calls through a
// pointer: where these go, from tile to tile, processors often foresee wrongly, and then the
// multiply-adds of one tile do not begin before those of the last are done.
struct ShapedTiles {
  static constexpr std::size_t kDiagonalShapes = 4, kShapes = 6;
  Tile tiles[TileGroups::kCountMax * TileGroups::kCountMax];
  std::size_t begin[kShapes + 1];  // of each shape

  ShapedTiles(const TileGroups& left, const TileGroups& right, bool is_square, double* sums) {
    std::size_t count = 0;
    for (std::size_t shape = 0; shape < kShapes; ++shape) {
      begin[shape] = count;
      for (std::size_t g = 0; g < left.count; ++g) {
        for (std::size_t h = is_square ? g : 0; h < right.count; ++h) {
          const std::size_t left_is_full = left.is_full(g), right_is_full = right.is_full(h);
          const bool is_diagonal = is_square && g == h;
          if (shape !=
              (is_diagonal ? kDiagonalShapes + left_is_full : 2 * left_is_full + right_is_full)) {
            continue;
          }
          const std::size_t row = left.begin[g], column = right.begin[h];
          double* const place = sums + (row * kPanel + column) * kSums;
          tiles[count++] = {left.rows + row, right.rows + column, place};
        }
      }
    }
    begin[kShapes] = count;
  }
};

// For each shape.
template <bool kCentred>
struct MultiplyTiles {
  using Function = void (*)(const Tile*, const Tile*, const TileStrip&, RowsAhead&);
  static constexpr Function kOf[ShapedTiles::kShapes] = {
      &multiply_tiles<kLess, kLess, false, kCentred>,
      &multiply_tiles<kLess, kTile, false, kCentred>,
      &multiply_tiles<kTile, kLess, false, kCentred>,
      &multiply_tiles<kTile, kTile, false, kCentred>,
      &multiply_tiles<kLess, kLess, true, kCentred>,
      &multiply_tiles<kTile, kTile, true, kCentred>};
};

// Adds the products over the whole strips of [begin, end) to sums, kPanel x kPanel x kSums.
template <bool kCentred>
HWY_INLINE void multiply_panels(const PanelPair& pair, std::size_t begin, std::size_t end,
                                double* HWY_RESTRICT sums) {
  const TileGroups left(pair.left), right(pair.right);
  const ShapedTiles all(left, right, pair.is_square(), sums);
  RowsAhead ahead(pair, all.begin[ShapedTiles::kShapes]);
  for (std::size_t start = begin; start < end; start += kStrip) {
    ahead.begin_at(start + kStrip);
    for (std::size_t shape = 0; shape < ShapedTiles::kShapes; ++shape) {
      const Tile* const first = all.tiles + all.begin[shape];
      const Tile* const last = all.tiles + all.begin[shape + 1];
      if (first == last) continue;
      MultiplyTiles<kCentred>::kOf[shape](first, last, {start, pair.centre}, ahead);
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
