#include <array>

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

constexpr std::size_t kStrip = 64;

// Eight partial sums whatever the width of a register, so that AVX2 and AVX-512 give the same bits.
double strip_distance(const float* HWY_RESTRICT row, const float* HWY_RESTRICT point,
                      std::size_t count) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr std::size_t kParts = 8 / hn::MaxLanes(d);
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> sums[kParts];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 8 <= count; j += 8) {
    for (std::size_t part = 0; part < kParts; ++part) {
      auto value = hn::PromoteTo(d, hn::LoadU(half, row + j + part * kLanes));
      if (point != nullptr) {
        value = hn::Sub(value, hn::PromoteTo(d, hn::LoadU(half, point + j + part * kLanes)));
      }
      sums[part] = hn::MulAdd(value, value, sums[part]);
    }
  }
  HWY_ALIGN double lanes[8];
  for (std::size_t part = 0; part < kParts; ++part) hn::Store(sums[part], d, lanes + part * kLanes);
  for (; j < count; ++j) {
    const double value =
        static_cast<double>(row[j]) - (point == nullptr ? 0.0 : static_cast<double>(point[j]));
    lanes[j % 8] = __builtin_fma(value, value, lanes[j % 8]);
  }
  double total = 0.0;
  for (const double lane : lanes) total += lane;
  return total;
}

void distances_range(const RowsView& rows, const float* point, std::size_t begin, std::size_t end,
                     double* HWY_RESTRICT sums) {
  for (std::size_t start = begin; start < end; start += kStrip) {
    const std::size_t count = HWY_MIN(kStrip, end - start);
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      sums[i] += strip_distance(rows.pointer(i) + start, point == nullptr ? nullptr : point + start,
                                count);
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
