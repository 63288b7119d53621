#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ballast/kernels/cpu/lines_ahead.h"
#include "ballast/kernels/cpu/partial_sums.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/cpu/product_panels.h"

#ifndef BALLAST_KERNELS_CPU_INNER_PRODUCTS_ONCE
#define BALLAST_KERNELS_CPU_INNER_PRODUCTS_ONCE
namespace ballast::kernels::cpu {

// The products of one row with all, relative to the centre (null: the origin).
struct RowRequest {
  const float* const* rows;
  std::size_t row_count, index;
  const float* centre;
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/inner_products.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/product_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products are summed strip by strip in double precision. Values are converted as they are loaded:
// conversions and multiply-adds use different ports. Each product keeps eight partial sums whatever
// the width of a register, and one row or the whole table add in the same order: AVX2 and AVX-512,
// incremental and full, give the same bits.

// Rows at a time that are multiplied with one row: as many as registers hold the sums of.
constexpr std::size_t kWide = kLanes == 8 ? 12 : 6;
// Coordinates that all groups of rows take before the next come: of the one row they stay in the
// first-level cache.
constexpr std::size_t kStretch = 4096;

// sums[c] += <row, rows_c> over [begin, end), whole strips.
template <std::size_t kRows, bool kCentred>
HWY_INLINE void multiply_row(const float* row, const float* const* rows, const float* centre,
                             std::size_t begin, std::size_t end, const LinesAhead& ahead,
                             double* HWY_RESTRICT sums) {
  const D d;
  constexpr std::size_t kLineParts = kLine / kLanes;
  for (std::size_t start = begin; start < end; start += kStrip) {
    Vector parts[kRows][kParts];
    for (auto& pair : parts) std::fill(std::begin(pair), std::end(pair), hn::Zero(d));
    for (std::size_t line = 0; line < kStrip / kLine; ++line) {
      const std::size_t j = start + line * kLine;
      for (std::size_t r = 0; r < kRows; ++r) __builtin_prefetch(ahead.line(r, j));
      for (std::size_t p = 0; p < kLineParts; ++p) {
        const std::size_t at = j + p * kLanes;
        const Vector origin = kCentred ? load(centre + at) : hn::Zero(d);
        const Vector a = load<kCentred>(row + at, origin);
        for (std::size_t r = 0; r < kRows; ++r) {
          const Vector b = load<kCentred>(rows[r] + at, origin);
          parts[r][p % kParts] = hn::MulAdd(a, b, parts[r][p % kParts]);
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t part = 0; part < kParts; ++part) {
        double* sum = sums + r * kSums + part * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), parts[r][part]), d, sum);
      }
    }
  }
}

template <std::size_t kRows, bool kCentred>
void multiply_group(const RowRequest& request, std::size_t first, std::size_t begin,
                    std::size_t end, const NextGroup& next, double* HWY_RESTRICT sums) {
  const float* const* rows = request.rows + first;
  const GroupRange range(rows, begin, end, next, values_ahead(kRows, kStrip));
  const auto multiply = [&](std::size_t from, std::size_t to, const LinesAhead& ahead) HWY_ATTR {
    multiply_row<kRows, kCentred>(request.rows[request.index], rows, request.centre, from, to,
                                  ahead, sums);
  };
  multiply(range.begin, range.cut, range.own);
  multiply(range.cut, range.end, range.next);
}

template <bool kCentred, std::size_t... kIndices>
constexpr auto all_sizes(std::index_sequence<kIndices...>) {
  return std::array{&multiply_group<kIndices + 1, kCentred>...};
}

template <bool kCentred>
HWY_INLINE void multiply_all(const RowRequest& request, std::size_t begin, std::size_t end,
                             double* HWY_RESTRICT sums) {
  static constexpr auto kMultiply = all_sizes<kCentred>(std::make_index_sequence<kWide>());
  const EvenGroups groups(request.row_count, kWide);
  for (std::size_t from = begin; from < end; from += kStretch) {
    const std::size_t to = HWY_MIN(from + kStretch, end);
    for (std::size_t g = 0; g < groups.count; ++g) {
      const std::size_t first = groups.begin(g), after = groups.begin(g + 1);
      const NextGroup next = g + 1 == groups.count ? NextGroup{request.rows, to}
                                                   : NextGroup{request.rows + after, from};
      kMultiply[after - first - 1](request, first, from, to, next, sums + first * kSums);
    }
  }
}

// Adds the products over whole strips of [begin, end) to sums, m x kSums.
void row_products(const RowRequest& request, std::size_t begin, std::size_t end,
                  double* HWY_RESTRICT sums) {
  if (request.centre == nullptr) {
    multiply_all<false>(request, begin, end, sums);
  } else {
    multiply_all<true>(request, begin, end, sums);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(row_products);
HWY_EXPORT(panel_products);

namespace {

// The last, partial strip of some rows, copied and padded with zeros.
class PaddedStrip {
 public:
  void begin(std::size_t rows_max, std::size_t from, std::size_t to) {
    from_ = from;
    to_ = to;
    values_.assign(rows_max * kStrip, 0.0f);
    rows_.clear();
    rows_.reserve(rows_max);
  }

  const float* copy(const float* row) {
    float* const place = values_.data() + rows_.size() * kStrip;
    std::copy(row + from_, row + to_, place);
    return rows_.emplace_back(place);
  }
  const float* const* copy(const float* const* rows, std::size_t count) {
    const std::size_t first = rows_.size();
    for (std::size_t i = 0; i < count; ++i) copy(rows[i]);
    return rows_.data() + first;
  }

 private:
  AlignedVector<float> values_;
  std::vector<const float*> rows_;
  std::size_t from_ = 0, to_ = 0;
};

RowRequest padded(RowRequest request, std::size_t from, std::size_t to, PaddedStrip& strip) {
  strip.begin(request.row_count + 1, from, to);
  request.rows = strip.copy(request.rows, request.row_count);
  if (request.centre != nullptr) request.centre = strip.copy(request.centre);
  return request;
}

PanelPair padded(PanelPair pair, std::size_t from, std::size_t to, PaddedStrip& strip) {
  const bool is_square = pair.is_square();
  strip.begin(2 * kPanel + 1, from, to);
  pair.left.rows = strip.copy(pair.left.rows, pair.left.row_count);
  pair.right.rows = is_square ? pair.left.rows : strip.copy(pair.right.rows, pair.right.row_count);
  if (pair.centre != nullptr) pair.centre = strip.copy(pair.centre);
  return pair;
}

// Calls the kernel for the whole strips of a block, then for the rest.
template <typename Kernel, typename Request>
void run_strips(Kernel kernel, const Request& request, std::size_t begin, std::size_t end,
                double* sums) {
  static thread_local PaddedStrip strip;
  const std::size_t whole = begin + (end - begin) / kStrip * kStrip;
  kernel(request, begin, whole, sums);
  if (whole < end) kernel(padded(request, whole, end, strip), 0, kStrip, sums);
}

double fold(const double* sums) {
  double total = 0.0;
  for (std::size_t lane = 0; lane < kSums; ++lane) total += sums[lane];
  return total;
}

// One row with all, in one block.
void add_row(const RowRequest& request, std::size_t begin, std::size_t end, double* products) {
  static thread_local AlignedVector<double> sums;
  sums.assign(request.row_count * kSums, 0.0);
  run_strips(HWY_DYNAMIC_DISPATCH(row_products), request, begin, end, sums.data());
  for (std::size_t i = 0; i < request.row_count; ++i) products[i] = fold(&sums[i * kSums]);
}

// All rows with all, panel by panel.
class AllPairs {
 public:
  AllPairs(std::span<const float* const> rows, const float* centre)
      : rows_(rows), panels_(rows.size(), kPanel), centre_(centre) {}

  std::size_t count() const { return panels_.count * panels_.count; }

  // Adds the products of one pair of panels over one block.
  void add(std::size_t index, std::size_t begin, std::size_t end, double* products) const {
    static thread_local AlignedVector<double> sums;
    const std::size_t left = index / panels_.count, right = index % panels_.count;
    if (left > right) return;  // the matrix is symmetric
    const PanelPair pair{panel(left), panel(right), centre_};
    sums.assign(kPanel * kPanel * kSums, 0.0);
    run_strips(HWY_DYNAMIC_DISPATCH(panel_products), pair, begin, end, sums.data());
    double* const corner = products + panels_.begin(left) * rows_.size() + panels_.begin(right);
    for (std::size_t r = 0; r < pair.left.row_count; ++r) {
      for (std::size_t c = pair.is_square() ? r : 0; c < pair.right.row_count; ++c) {
        corner[r * rows_.size() + c] += fold(&sums[(r * kPanel + c) * kSums]);
      }
    }
  }

 private:
  Panel panel(std::size_t index) const {
    return {rows_.data() + panels_.begin(index), panels_.size(index)};
  }

  std::span<const float* const> rows_;
  EvenGroups panels_;
  const float* centre_;
};

// Block by block, so that the last-level cache holds what is read again and again. While a matrix
// per block is small, the threads share the blocks; else the pairs of each block, which are many.
void add_all_pairs(const AllPairs& pairs, const Blocks& blocks, std::size_t row_count,
                   std::span<double> products, std::size_t threads) {
  constexpr std::size_t kSharedBlocksRowsMax = 384;
  if (threads > 1 && row_count <= kSharedBlocksRowsMax) {
    return sum_over_blocks(blocks, products, threads, [&](std::size_t block, double* partial) {
      for (std::size_t i = 0; i < pairs.count(); ++i) {
        pairs.add(i, blocks.begin(block), blocks.end(block), partial);
      }
    });
  }
  std::ranges::fill(products, 0.0);
  for (std::size_t block = 0; block < blocks.count(); ++block) {
    parallel_for(threads, pairs.count(), [&](std::size_t i) {
      pairs.add(i, blocks.begin(block), blocks.end(block), products.data());
    });
  }
}

void mirror_upper_triangle(std::span<double> products, std::size_t m) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) products[i * m + j] = products[j * m + i];
  }
}

}  // namespace

void inner_products(RowsView rows, std::size_t first, std::size_t last,
                    std::span<const float> centre, std::span<double> products,
                    std::size_t threads) {
  const Blocks blocks(rows.dim());
  const std::size_t m = rows.row_count();
  const float* const origin = centre.empty() ? nullptr : centre.data();
  if (last - first == m) {
    add_all_pairs(AllPairs(rows.pointers(), origin), blocks, m, products, threads);
    return mirror_upper_triangle(products, m);
  }
  sum_over_blocks(blocks, products, threads, [&](std::size_t block, double* partial) {
    for (std::size_t i = first; i < last; ++i, partial += m) {
      add_row({rows.pointers().data(), m, i, origin}, blocks.begin(block), blocks.end(block),
              partial);
    }
  });
}

}  // namespace ballast::kernels::cpu
#endif
