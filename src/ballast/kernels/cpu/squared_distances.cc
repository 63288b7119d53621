#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/lines_ahead.h"
#include "ballast/kernels/cpu/partial_sums.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/squared_distances.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kStrip = 512;
constexpr std::size_t kSums = 8;  // partial sums of one strip

// Eight partial sums whatever the width of a register, so that AVX2 and AVX-512 give the same bits.
using D = hn::CappedTag<double, kSums>;
using Half = hn::Rebind<float, D>;
using Vector = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kParts = kSums / kLanes;
constexpr std::size_t kWide = kLanes == 8 ? 12 : 6;  // rows at a time; their sums stay in registers
// Coordinates that all groups of rows take before the next come: of the point they stay in the
// first-level cache.
constexpr std::size_t kStretch = 4096;

HWY_INLINE Vector load(const float* from) { return hn::PromoteTo(D(), hn::LoadU(Half(), from)); }

// The partial sums of kRows rows, which share the conversion of the point (null: the origin).
template <std::size_t kRows>
struct Squares {
  const float* const* rows;
  const float* point;
  Vector parts[kRows][kParts];

  HWY_INLINE Squares(const float* const* of_rows, const float* from_point)
      : rows(of_rows), point(from_point) {
    for (auto& row : parts) std::fill(std::begin(row), std::end(row), hn::Zero(D()));
  }

  template <std::size_t kCount>
  HWY_INLINE void add(std::size_t j) {
    for (std::size_t p = 0; p < kCount / kLanes; ++p) {
      const std::size_t at = j + p * kLanes;
      const Vector origin = point == nullptr ? hn::Zero(D()) : load(point + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector value = hn::Sub(load(rows[r] + at), origin);
        parts[r][p % kParts] = hn::MulAdd(value, value, parts[r][p % kParts]);
      }
    }
  }

  HWY_INLINE void add_lines(std::size_t begin, std::size_t end, const LinesAhead& ahead) {
    for (std::size_t j = begin; j < end; j += kLine) {
      for (std::size_t r = 0; r < kRows; ++r) __builtin_prefetch(ahead.line(r, j));
      add<kLine>(j);
    }
  }

  // All of them, and the coordinates [begin, end), fewer than kSums.
  HWY_INLINE double total(std::size_t r, std::size_t begin, std::size_t end) const {
    HWY_ALIGN double lanes[kSums];
    for (std::size_t p = 0; p < kParts; ++p) hn::Store(parts[r][p], D(), lanes + p * kLanes);
    for (std::size_t j = begin; j < end; ++j) {
      const double value = static_cast<double>(rows[r][j]) -
                           (point == nullptr ? 0.0 : static_cast<double>(point[j]));
      lanes[j - begin] = __builtin_fma(value, value, lanes[j - begin]);
    }
    double sum = 0.0;
    for (const double lane : lanes) sum += lane;
    return sum;
  }
};

// Adds to sums[r] the squared distance of rows[r] from the point over a group's range.
template <std::size_t kRows>
void add_group(const float* const* rows, const float* point, std::size_t begin, std::size_t end,
               const NextGroup& next, double* HWY_RESTRICT sums) {
  const GroupRange range(rows, begin, end, next, values_ahead(kRows, kLine));
  for (std::size_t start = begin; start < end; start += kStrip) {
    const std::size_t stop = HWY_MIN(start + kStrip, end);
    const std::size_t lines_end = start + (stop - start) / kLine * kLine;
    const std::size_t cut = std::clamp(range.cut, start, lines_end);
    Squares<kRows> squares(rows, point);
    squares.add_lines(start, cut, range.own);
    squares.add_lines(cut, lines_end, range.next);
    std::size_t j = lines_end;
    if (j + kSums <= stop) {
      squares.template add<kSums>(j);
      j += kSums;
    }
    for (std::size_t r = 0; r < kRows; ++r) sums[r] += squares.total(r, j, stop);
  }
}

template <std::size_t... kIndices>
constexpr auto all_sizes(std::index_sequence<kIndices...>) {
  return std::array{&add_group<kIndices + 1>...};
}

void distances_range(const RowsView& rows, const float* point, std::size_t begin, std::size_t end,
                     double* HWY_RESTRICT sums) {
  static constexpr auto kAdd = all_sizes(std::make_index_sequence<kWide>());
  const float* const* pointers = rows.pointers().data();
  const EvenGroups groups(rows.row_count(), kWide);
  for (std::size_t from = begin; from < end; from += kStretch) {
    const std::size_t to = HWY_MIN(from + kStretch, end);
    for (std::size_t g = 0; g < groups.count; ++g) {
      const std::size_t first = groups.begin(g), after = groups.begin(g + 1);
      const NextGroup next =
          g + 1 == groups.count ? NextGroup{pointers, to} : NextGroup{pointers + after, from};
      kAdd[after - first - 1](pointers + first, point, from, to, next, sums + first);
    }
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(distances_range);

void squared_distances(RowsView rows, std::span<const float> point, std::span<double> distances,
                       std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(distances_range);
  const float* centre = point.empty() ? nullptr : point.data();
  sum_over_blocks(blocks, distances, threads, [&](std::size_t block, double* sums) {
    kernel(rows, centre, blocks.begin(block), blocks.end(block), sums);
  });
}

}  // namespace ballast::kernels::cpu
#endif
