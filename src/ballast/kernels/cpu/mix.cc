#include <algorithm>
#include <limits>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/mix.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A few cache lines of every row at a time: with the rows innermost the hardware follows each row
// as a stream of its own, and the sums stay in registers. One line is best while it can follow that
// many streams; beyond, few rows at a time are added to sums in the cache, and for tables that a
// last-level cache holds longer runs are best. The order of addition is the same in all.
constexpr std::size_t kLine = 16;
constexpr std::size_t kStreamsMax = 20;
constexpr std::size_t kCachedValuesMax = std::size_t{2} << 20;  // 8 MiB
constexpr double kLargest = std::numeric_limits<float>::max();

using D = hn::ScalableTag<double>;
using Half = hn::Rebind<float, D>;

HWY_INLINE void store_clamped(hn::Vec<D> sum, float* out) {
  const D d;
  const auto clamped = hn::Min(hn::Max(sum, hn::Set(d, -kLargest)), hn::Set(d, kLargest));
  hn::StoreU(hn::DemoteTo(Half(), clamped), Half(), out);
}

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

// The sums of many rows over kStretch coordinates, and how many rows are read at a time.
constexpr std::size_t kStretch = 1024;
constexpr std::size_t kRowsAtOnce = 8;

// Adds kRows rows, in their order, to sums over `count` coordinates, a multiple of the lanes.
template <std::size_t kRows>
HWY_INLINE void add_rows(const float* const* rows, const double* factors, std::size_t offset,
                         std::size_t count, double* HWY_RESTRICT sums) {
  const D d;
  const Half half;
  for (std::size_t j = 0; j < count; j += hn::Lanes(d)) {
    auto sum = hn::Load(d, sums + j);
    for (std::size_t k = 0; k < kRows; ++k) {
      const auto value = hn::PromoteTo(d, hn::LoadU(half, rows[k] + offset + j));
      sum = hn::MulAdd(hn::Set(d, factors[k]), value, sum);
    }
    hn::Store(sum, d, sums + j);
  }
}

std::size_t used_rows(std::span<const double> coefficients) {
  return coefficients.size() - static_cast<std::size_t>(std::ranges::count(coefficients, 0.0));
}

// All whole stretches in [begin, end); returns where they end.
std::size_t mix_stretches(const RowsView& rows, std::span<const double> coefficients, float* out,
                          std::size_t begin, std::size_t end) {
  const D d;
  HWY_ALIGN double sums[kStretch];
  std::size_t j = begin;
  for (; j + kStretch <= end; j += kStretch) {
    std::fill(std::begin(sums), std::end(sums), 0.0);
    const float* used[kRowsAtOnce];
    double factors[kRowsAtOnce];
    std::size_t count = 0;
    for (std::size_t k = 0; k < rows.row_count(); ++k) {
      if (coefficients[k] == 0.0) continue;
      used[count] = rows.pointer(k);
      factors[count] = coefficients[k];
      if (++count < kRowsAtOnce) continue;
      add_rows<kRowsAtOnce>(used, factors, j, kStretch, sums);
      count = 0;
    }
    for (std::size_t k = 0; k < count; ++k) add_rows<1>(used + k, factors + k, j, kStretch, sums);
    for (std::size_t i = 0; i < kStretch; i += hn::Lanes(d)) {
      store_clamped(hn::Load(d, sums + i), out + j + i);
    }
  }
  return j;
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

void mix_range(const RowsView& rows, const MatrixView& coefficients, const MutableRowsView& out,
               std::size_t begin, std::size_t end) {
  constexpr std::size_t kLongRun =
      hn::MaxLanes(D()) == 8 ? 8 : 2;  // as many sums as registers hold
  std::size_t j = begin;
  if (out.row_count() == 1 && used_rows(coefficients.row(0)) > kStreamsMax) {
    j = mix_stretches(rows, coefficients.row(0), out.pointer(0), j, end);
  }
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

void mix(RowsView rows, MatrixView coefficients, MutableRowsView out, std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(mix_range);
  parallel_for(threads, blocks.count(), [&](std::size_t block) {
    kernel(rows, coefficients, out, blocks.begin(block), blocks.end(block));
  });
}

}  // namespace ballast::kernels::cpu
#endif
