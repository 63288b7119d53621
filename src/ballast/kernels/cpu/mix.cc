#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/lines_ahead.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/mix.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double kLargest = std::numeric_limits<float>::max();

using D = hn::ScalableTag<double>;
using Half = hn::Rebind<float, D>;

HWY_INLINE void store_clamped(hn::Vec<D> sum, float* out) {
  const D d;
  const auto clamped = hn::Min(hn::Max(sum, hn::Set(d, -kLargest)), hn::Set(d, kLargest));
  hn::StoreU(hn::DemoteTo(Half(), clamped), Half(), out);
}

// One mixture: a group of rows over a stretch of coordinates, whose sums wait in the first-level
// cache for the next group. A group is as large as registers hold its coefficients beside the sums
// of a line.
constexpr std::size_t kStretch = 2048;
constexpr std::size_t kGroup = hn::MaxLanes(D()) == 8 ? 18 : 11;

// The rows with a coefficient other than 0.
struct UsedRows {
  std::vector<const float*> rows;
  std::vector<double> coefficients;

  void assign(const RowsView& all, std::span<const double> of_all) {
    rows.clear();
    coefficients.clear();
    for (std::size_t k = 0; k < of_all.size(); ++k) {
      if (of_all[k] == 0.0) continue;
      rows.push_back(all.pointer(k));
      coefficients.push_back(of_all[k]);
    }
  }
};

struct Stretch {
  std::size_t begin, end;  // a multiple of kLine coordinates
  double* sums;            // of the groups before
  float* out;              // of the coordinate `begin`
};

// Adds kRows rows, in their order, to the sums over [begin, end). The first group finds no sums,
// the last one leaves the result.
template <std::size_t kRows, bool kIsFirst, bool kIsLast>
HWY_INLINE void add_rows(const float* const* rows, const double* coefficients, std::size_t begin,
                         std::size_t end, const LinesAhead& ahead, const Stretch& stretch) {
  const D d;
  constexpr std::size_t kLanes = hn::MaxLanes(d), kParts = kLine / kLanes;
  hn::Vec<D> factors[kRows];
  for (std::size_t k = 0; k < kRows; ++k) factors[k] = hn::Set(d, coefficients[k]);
  for (std::size_t j = begin; j < end; j += kLine) {
    double* HWY_RESTRICT sums = stretch.sums + (j - stretch.begin);
    hn::Vec<D> parts[kParts];
    for (std::size_t p = 0; p < kParts; ++p) {
      parts[p] = kIsFirst ? hn::Zero(d) : hn::Load(d, sums + p * kLanes);
    }
    for (std::size_t k = 0; k < kRows; ++k) {
      __builtin_prefetch(ahead.line(k, j));
      for (std::size_t p = 0; p < kParts; ++p) {
        const auto value = hn::PromoteTo(d, hn::LoadU(Half(), rows[k] + j + p * kLanes));
        parts[p] = hn::MulAdd(factors[k], value, parts[p]);
      }
    }
    for (std::size_t p = 0; p < kParts; ++p) {
      if (kIsLast) {
        store_clamped(parts[p], stretch.out + (j - stretch.begin) + p * kLanes);
      } else {
        hn::Store(parts[p], d, sums + p * kLanes);
      }
    }
  }
}

template <std::size_t kRows, bool kIsFirst, bool kIsLast>
void add_group(const float* const* rows, const double* coefficients, const NextGroup& next,
               const Stretch& stretch) {
  const GroupRange range(rows, stretch.begin, stretch.end, next, values_ahead(kRows, kLine));
  const auto add = [&](std::size_t begin, std::size_t end, const LinesAhead& ahead) HWY_ATTR {
    add_rows<kRows, kIsFirst, kIsLast>(rows, coefficients, begin, end, ahead, stretch);
  };
  add(range.begin, range.cut, range.own);
  add(range.cut, range.end, range.next);
}

template <bool kIsFirst, bool kIsLast, std::size_t... kIndices>
constexpr auto all_sizes(std::index_sequence<kIndices...>) {
  return std::array{&add_group<kIndices + 1, kIsFirst, kIsLast>...};
}

// Group after group of one stretch; beyond it the first one comes again.
void mix_stretch(const UsedRows& used, const Stretch& stretch) {
  constexpr auto kSizes = std::make_index_sequence<kGroup>();
  static constexpr auto kOnly = all_sizes<true, true>(kSizes);
  static constexpr auto kFirst = all_sizes<true, false>(kSizes);
  static constexpr auto kMiddle = all_sizes<false, false>(kSizes);
  static constexpr auto kLast = all_sizes<false, true>(kSizes);
  const EvenGroups groups(used.rows.size(), kGroup);
  for (std::size_t g = 0; g < groups.count; ++g) {
    const bool is_first = g == 0, is_last = g + 1 == groups.count;
    const auto& add = is_first && is_last ? kOnly : is_first ? kFirst : is_last ? kLast : kMiddle;
    const float* const* rows = used.rows.data() + groups.begin(g);
    const NextGroup next = is_last ? NextGroup{used.rows.data(), stretch.end}
                                   : NextGroup{rows + groups.size(g), stretch.begin};
    add[groups.size(g) - 1](rows, used.coefficients.data() + groups.begin(g), next, stretch);
  }
}

// All whole lines of [begin, end), the first of them to out[0]; returns where they end.
std::size_t mix_stretches(const RowsView& rows, std::span<const double> coefficients,
                          std::size_t begin, std::size_t end, float* out) {
  static thread_local UsedRows used;
  used.assign(rows, coefficients);
  HWY_ALIGN double sums[kStretch];
  const std::size_t lines_end = begin + (end - begin) / kLine * kLine;
  if (used.rows.empty()) std::fill_n(out, lines_end - begin, 0.0f);
  for (std::size_t j = begin; j < lines_end; j += kStretch) {
    mix_stretch(used, {j, std::min(j + kStretch, lines_end), sums, out + (j - begin)});
  }
  return lines_end;
}

// Many mixtures: a few lines of every row for all of them in turn, with the sums in registers.
template <std::size_t kLines>
HWY_INLINE void mix_lines(const RowsView& rows, std::span<const double> coefficients,
                          std::size_t offset, float* HWY_RESTRICT out) {
  const D d;
  const Half half;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kParts = kLines * kLine / kLanes;
  hn::Vec<D> sums[kParts];
  std::fill(std::begin(sums), std::end(sums), hn::Zero(d));
  for (std::size_t k = 0; k < rows.row_count(); ++k) {
    if (coefficients[k] == 0.0) continue;
    const auto factor = hn::Set(d, coefficients[k]);
    const float* row = rows.pointer(k) + offset;
    for (std::size_t part = 0; part < kParts; ++part) {
      const auto value = hn::PromoteTo(d, hn::LoadU(half, row + part * kLanes));
      sums[part] = hn::MulAdd(factor, value, sums[part]);
    }
  }
  for (std::size_t part = 0; part < kParts; ++part) store_clamped(sums[part], out + part * kLanes);
}

// All whole runs of kLines cache lines in [begin, end); returns where they end.
template <std::size_t kLines>
std::size_t mix_runs(const RowsView& rows, const MatrixView& coefficients,
                     const MutableRowsView& out, std::size_t begin, std::size_t end) {
  std::size_t j = begin;
  for (; j + kLines * kLine <= end; j += kLines * kLine) {
    for (std::size_t r = 0; r < out.row_count(); ++r) {
      mix_lines<kLines>(rows, coefficients.row(r), j, out.pointer(r) + j);
    }
  }
  return j;
}

float mix_one(const RowsView& rows, std::span<const double> coefficients, std::size_t offset) {
  double sum = 0.0;
  for (std::size_t k = 0; k < rows.row_count(); ++k) {
    sum = __builtin_fma(coefficients[k], static_cast<double>(rows.pointer(k)[offset]), sum);
  }
  return static_cast<float>(std::clamp(sum, -kLargest, kLargest));
}

void mix_one_row(const RowsView& rows, std::span<const double> coefficients, std::size_t begin,
                 std::size_t end, float* out) {
  const std::size_t lines_end = mix_stretches(rows, coefficients, begin, end, out);
  for (std::size_t j = lines_end; j < end; ++j) out[j - begin] = mix_one(rows, coefficients, j);
}

void mix_range(const RowsView& rows, const MatrixView& coefficients, const MutableRowsView& out,
               std::size_t begin, std::size_t end) {
  // As many sums as registers hold. While the hardware can follow that many rows of a table that no
  // cache holds, a single line is best.
  constexpr std::size_t kLongRun = hn::MaxLanes(D()) == 8 ? 8 : 2;
  constexpr std::size_t kStreamsMax = 20, kCachedValuesMax = std::size_t{2} << 20;
  if (out.row_count() == 1) {
    return mix_one_row(rows, coefficients.row(0), begin, end, out.pointer(0) + begin);
  }
  std::size_t j = begin;
  if (rows.row_count() > kStreamsMax || rows.row_count() * rows.dim() <= kCachedValuesMax) {
    j = mix_runs<kLongRun>(rows, coefficients, out, j, end);
  }
  j = mix_runs<1>(rows, coefficients, out, j, end);
  for (; j < end; ++j) {
    for (std::size_t r = 0; r < out.row_count(); ++r) {
      out.pointer(r)[j] = mix_one(rows, coefficients.row(r), j);
    }
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(mix_range);
HWY_EXPORT(mix_one_row);

void combine_range(const host::Combination& combination, std::size_t begin, std::size_t end,
                   float* out) {
  HWY_DYNAMIC_DISPATCH(mix_one_row)
  (combination.rows, combination.coefficients, begin, end, out);
}

void mix(RowsView rows, MatrixView coefficients, MutableRowsView out, std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(mix_range);
  parallel_for(threads, blocks.count(), [&](std::size_t block) {
    kernel(rows, coefficients, out, blocks.begin(block), blocks.end(block));
  });
}

}  // namespace ballast::kernels::cpu
#endif
