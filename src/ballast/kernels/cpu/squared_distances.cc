#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
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
constexpr std::size_t kWide = kLanes == 8 ? 8 : 4;  // rows at a time; their sums stay in registers

HWY_INLINE Vector load(const float* from) { return hn::PromoteTo(D(), hn::LoadU(Half(), from)); }

// Adds to sums[i] the squared distance of rows[i] from the point (null: the origin) over `count`
// coordinates from `start` on, at most a strip, for kRows rows that share the point's conversion.
template <std::size_t kRows>
HWY_INLINE void add_strip(const float* const* rows, const float* point, std::size_t start,
                          std::size_t count, double* HWY_RESTRICT sums) {
  const D d;
  Vector parts[kRows][kParts];
  for (auto& row : parts) std::fill(std::begin(row), std::end(row), hn::Zero(d));
  std::size_t j = start;
  for (; j + kSums <= start + count; j += kSums) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t at = j + part * kLanes;
      const Vector origin = point == nullptr ? hn::Zero(d) : load(point + at);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector value = hn::Sub(load(rows[r] + at), origin);
        parts[r][part] = hn::MulAdd(value, value, parts[r][part]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    HWY_ALIGN double lanes[kSums];
    for (std::size_t part = 0; part < kParts; ++part) {
      hn::Store(parts[r][part], d, lanes + part * kLanes);
    }
    for (std::size_t k = j; k < start + count; ++k) {
      const double value = static_cast<double>(rows[r][k]) -
                           (point == nullptr ? 0.0 : static_cast<double>(point[k]));
      lanes[k - j] = __builtin_fma(value, value, lanes[k - j]);
    }
    double total = 0.0;
    for (const double lane : lanes) total += lane;
    sums[r] += total;
  }
}

// All strips of some rows before the next rows come: a few long streams of memory.
template <std::size_t kRows>
void add_rows(const float* const* rows, const float* point, std::size_t begin, std::size_t end,
              double* HWY_RESTRICT sums) {
  for (std::size_t start = begin; start < end; start += kStrip) {
    add_strip<kRows>(rows, point, start, HWY_MIN(kStrip, end - start), sums);
  }
}

template <std::size_t... kIndices>
constexpr auto all_widths(std::index_sequence<kIndices...>) {
  return std::array{&add_rows<kIndices + 1>...};
}

// The rows in even groups: a lone one would wait for its own sums.
void distances_range(const RowsView& rows, const float* point, std::size_t begin, std::size_t end,
                     double* HWY_RESTRICT sums) {
  static constexpr auto kAddRows = all_widths(std::make_index_sequence<kWide>());
  const float* const* pointers = rows.pointers().data();
  const std::size_t m = rows.row_count(), groups = (m + kWide - 1) / kWide;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * m / groups, count = (g + 1) * m / groups - first;
    kAddRows[count - 1](pointers + first, point, begin, end, sums + first);
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
