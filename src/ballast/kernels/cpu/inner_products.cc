#include <algorithm>
#include <array>
#include <utility>

#include "ballast/kernels/cpu/partial_sums.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/cpu/product_panels.h"

#ifndef BALLAST_KERNELS_CPU_INNER_PRODUCTS_ONCE
#define BALLAST_KERNELS_CPU_INNER_PRODUCTS_ONCE
namespace ballast::kernels::cpu {

// Which products: rows [first, last) with all rows, relative to the centre (null: the origin).
struct ProductsRequest {
  const float* const* rows;
  std::size_t row_count;
  std::size_t first, last;
  const float* centre;

  bool is_whole_table() const { return last - first == row_count; }
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/inner_products.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/product_panels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products are summed strip by strip in double precision, a tile of pairs at a time in registers.
// Values are converted as they are loaded: conversions and multiply-adds use different ports. Each
// product keeps eight partial sums whatever the width of a register, and one row or the whole table
// add in the same order: AVX2 and AVX-512, incremental and full, give the same bits. So does
// product_panels-inl.h, which takes many rows.
constexpr std::size_t kTile = kLanes == 8 ? 4 : 2;  // rows per side of a register tile
// Columns of a tile that is one row high: of few rows, more would leave groups of unequal width.
constexpr std::size_t kWide = kLanes == 8 ? 12 : 6, kWideOfFew = kLanes == 8 ? 8 : 5;

// sums[r][c] += <left_r, right_c> over the strip that starts at coordinate `start`.
template <std::size_t kRows, std::size_t kColumns, bool kCentred>
HWY_INLINE void tile_products(const float* const* left, const float* const* right,
                              const float* centre, std::size_t start, double* HWY_RESTRICT sums,
                              std::size_t stride) {
  const D d;
  Vector parts[kRows][kColumns][kParts];
  for (auto& row : parts) {
    for (auto& pair : row) std::fill(std::begin(pair), std::end(pair), hn::Zero(d));
  }
  for (std::size_t j = start; j < start + kStrip; j += kSums) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t at = j + part * kLanes;
      const Vector origin = kCentred ? load(centre + at) : hn::Zero(d);
      Vector b[kColumns];
      for (std::size_t c = 0; c < kColumns; ++c) {
        b[c] = load(right[c] + at);
        if (kCentred) b[c] = hn::Sub(b[c], origin);
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        Vector a = load(left[r] + at);
        if (kCentred) a = hn::Sub(a, origin);
        for (std::size_t c = 0; c < kColumns; ++c) {
          parts[r][c][part] = hn::MulAdd(a, b[c], parts[r][c][part]);
        }
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      for (std::size_t part = 0; part < kParts; ++part) {
        double* sum = sums + (r * stride + c) * kSums + part * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), parts[r][c][part]), d, sum);
      }
    }
  }
}

// One row of tiles: kRows rows from `row` on against the rows [from, row_count).
template <std::size_t kRows, bool kCentred>
void tile_row(const ProductsRequest& request, std::size_t row, std::size_t from, std::size_t start,
              double* HWY_RESTRICT sums) {
  const float* const* left = request.rows + row;
  const std::size_t m = request.row_count;
  std::size_t c = from;
  for (; c + kTile <= m; c += kTile) {
    tile_products<kRows, kTile, kCentred>(left, request.rows + c, request.centre, start,
                                          sums + c * kSums, m);
  }
  for (; c < m; ++c) {
    tile_products<kRows, 1, kCentred>(left, request.rows + c, request.centre, start,
                                      sums + c * kSums, m);
  }
}

// The upper triangle of the whole table, strip by strip: each value is multiplied with all others
// while it is in the cache.
template <bool kCentred>
void triangle_products(const ProductsRequest& request, std::size_t begin, std::size_t end,
                       double* HWY_RESTRICT sums) {
  const std::size_t row_sums = request.row_count * kSums;
  for (std::size_t start = begin; start < end; start += kStrip) {
    std::size_t r = 0;
    for (; r + kTile <= request.row_count; r += kTile) {
      tile_row<kTile, kCentred>(request, r, r, start, sums + r * row_sums);
    }
    for (; r < request.row_count; ++r) {
      tile_row<1, kCentred>(request, r, r, start, sums + r * row_sums);
    }
  }
}

// One row against the kColumns rows from `column` on, over all strips before other columns come:
// the memory can follow a few long streams, not a short piece of every row in turn.
template <std::size_t kColumns, bool kCentred>
void stream_products(const ProductsRequest& request, std::size_t row, std::size_t column,
                     std::size_t begin, std::size_t end, double* HWY_RESTRICT sums) {
  for (std::size_t start = begin; start < end; start += kStrip) {
    tile_products<1, kColumns, kCentred>(request.rows + row, request.rows + column, request.centre,
                                         start, sums + column * kSums, request.row_count);
  }
}

template <bool kCentred, std::size_t... kIndices>
constexpr auto all_streams(std::index_sequence<kIndices...>) {
  return std::array{&stream_products<kIndices + 1, kCentred>...};
}

// Some rows against all, the columns in even groups: a lone one would wait for its own sums.
template <bool kCentred>
void row_products(const ProductsRequest& request, std::size_t begin, std::size_t end,
                  double* HWY_RESTRICT sums) {
  static constexpr auto kStreams = all_streams<kCentred>(std::make_index_sequence<kWide>());
  const std::size_t m = request.row_count, wide = m > 32 ? kWide : kWideOfFew;
  const std::size_t groups = (m + wide - 1) / wide;
  for (std::size_t r = request.first; r < request.last; ++r, sums += m * kSums) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = g * m / groups, count = (g + 1) * m / groups - first;
      kStreams[count - 1](request, r, first, begin, end, sums);
    }
  }
}

template <bool kCentred>
HWY_INLINE void products_of(const ProductsRequest& request, std::size_t begin, std::size_t end,
                            double* HWY_RESTRICT sums) {
  if (request.is_whole_table()) {
    triangle_products<kCentred>(request, begin, end, sums);
  } else {
    row_products<kCentred>(request, begin, end, sums);
  }
}

// Adds the products over whole strips of [begin, end) to sums, (last - first) x m x kSums.
void products_range(const ProductsRequest& request, std::size_t begin, std::size_t end,
                    double* HWY_RESTRICT sums) {
  if (request.centre == nullptr) {
    products_of<false>(request, begin, end, sums);
  } else {
    products_of<true>(request, begin, end, sums);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(products_range);
HWY_EXPORT(panel_products);

namespace {

// The last, partial strip of every row, and of the centre, copied and padded with zeros.
struct PaddedStrip {
  AlignedVector<float> values;
  std::vector<const float*> rows;

  ProductsRequest copy(const ProductsRequest& from, std::size_t start, std::size_t count) {
    values.assign((from.row_count + 1) * kStrip, 0.0f);
    rows.resize(from.row_count);
    ProductsRequest padded = from;
    for (std::size_t i = 0; i < from.row_count; ++i) {
      rows[i] = values.data() + i * kStrip;
      std::copy_n(from.rows[i] + start, count, values.data() + i * kStrip);
    }
    padded.rows = rows.data();
    if (from.centre != nullptr) {
      std::copy_n(from.centre + start, count, values.data() + from.row_count * kStrip);
      padded.centre = values.data() + from.row_count * kStrip;
    }
    return padded;
  }
};

double fold(const double* sums) {
  double total = 0.0;
  for (std::size_t lane = 0; lane < kSums; ++lane) total += sums[lane];
  return total;
}

void mirror_upper_triangle(std::span<double> products, std::size_t m) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) products[i * m + j] = products[j * m + i];
  }
}

// All products of few rows, or those of some rows: the threads share the blocks of coordinates.
void products_by_blocks(const ProductsRequest& request, const Blocks& blocks,
                        std::span<double> products, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(products_range);
  sum_over_blocks(blocks, products, threads, [&](std::size_t block, double* partial) {
    static thread_local AlignedVector<double> sums;
    static thread_local PaddedStrip padded;
    sums.assign(products.size() * kSums, 0.0);
    const std::size_t begin = blocks.begin(block), end = blocks.end(block);
    const std::size_t whole = begin + (end - begin) / kStrip * kStrip;
    kernel(request, begin, whole, sums.data());
    if (whole < end) kernel(padded.copy(request, whole, end - whole), 0, kStrip, sums.data());
    for (std::size_t i = 0; i < products.size(); ++i) partial[i] = fold(sums.data() + i * kSums);
  });
}

// All products of many rows, in items of a panel and some beside it.
class PanelItems {
 public:
  explicit PanelItems(const ProductsRequest& request) : request_(request) {}

  std::size_t count() const { return (request_.row_count + kPanel - 1) / kPanel * groups(); }

  // Adds the products of one item over [begin, end).
  void add(std::size_t index, std::size_t begin, std::size_t end, double* products) const {
    static thread_local PanelScratch scratch;
    const std::size_t m = request_.row_count;
    const std::size_t left = index / groups() * kPanel, right = left + index % groups() * kWidth;
    if (right >= m) return;
    const PanelRow row{request_.rows + left, request_.rows + right, std::min(kPanel, m - left),
                       std::min(kWidth, m - right), request_.centre};
    HWY_DYNAMIC_DISPATCH(panel_products)
    (row, begin, end, scratch, products + left * m + right, m);
  }

 private:
  static constexpr std::size_t kWidth = kRightPanelsMax * kPanel;

  std::size_t groups() const { return (request_.row_count + kWidth - 1) / kWidth; }

  const ProductsRequest& request_;
};

// Block by block, so that the last-level cache holds what is read again and again. While a matrix
// per block is small, the threads share the blocks; else the items of each block, which are many.
void products_by_panels(const ProductsRequest& request, const Blocks& blocks,
                        std::span<double> products, std::size_t threads) {
  constexpr std::size_t kSharedBlocksRowsMax = 384;
  const PanelItems items(request);
  if (threads > 1 && request.row_count <= kSharedBlocksRowsMax) {
    return sum_over_blocks(blocks, products, threads, [&](std::size_t block, double* partial) {
      for (std::size_t i = 0; i < items.count(); ++i) {
        items.add(i, blocks.begin(block), blocks.end(block), partial);
      }
    });
  }
  std::ranges::fill(products, 0.0);
  for (std::size_t block = 0; block < blocks.count(); ++block) {
    parallel_for(threads, items.count(), [&](std::size_t i) {
      items.add(i, blocks.begin(block), blocks.end(block), products.data());
    });
  }
}

}  // namespace

void inner_products(RowsView rows, std::size_t first, std::size_t last,
                    std::span<const float> centre, std::span<double> products,
                    std::size_t threads) {
  constexpr std::size_t kFewRows = 80;  // whose sums fit the cache in any order
  const Blocks blocks(rows.dim());
  const ProductsRequest request{rows.pointers().data(), rows.row_count(), first, last,
                                centre.empty() ? nullptr : centre.data()};
  if (request.is_whole_table() && rows.row_count() > kFewRows) {
    products_by_panels(request, blocks, products, threads);
  } else {
    products_by_blocks(request, blocks, products, threads);
  }
  if (request.is_whole_table()) mirror_upper_triangle(products, rows.row_count());
}

}  // namespace ballast::kernels::cpu
#endif
