#include <algorithm>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/weighted_median.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/median_by_sorting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

void medians_by_search(const ColumnJob& job, std::size_t begin, std::size_t end,
                       const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  const std::int64_t target = (job.total + 1) / 2;
  for_each_copied_group<Narrow>(
      job, begin, end, scratch, kGuessed * kLanes,
      [&](Columns<Narrow> columns, std::size_t position, std::size_t width) HWY_ATTR {
        Cut<Narrow> cuts[kGuessed];
        guess_cuts(columns, job.total, target, cuts);
        for (std::size_t at = 0; at < width; at += kLanes, columns.offset += kLanes) {
          auto found = search(columns, cuts[at / kLanes], job.total, target);
          store_first<Narrow>(median_from(columns, found, job.total), HWY_MIN(kLanes, width - at),
                              out + position + at);
        }
      });
}

void median_range(const ColumnJob& job, std::size_t begin, std::size_t end,
                  const ColumnScratch& scratch, float* out) {
  if (can_sort(job.narrow_weights)) return medians_by_sorting(job, begin, end, scratch, out);
  medians_by_search(job, begin, end, scratch, out);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(median_range);

namespace {

// Weights whose sum fits 31 bits, in nearly the same proportions.
Weights narrowed(const Weights& weights) {
  int shift = 0;
  while (weights.total() >> shift >= std::uint64_t{1} << 30) ++shift;
  std::vector<std::uint64_t> units;
  for (const std::uint64_t unit : weights.units()) {
    units.push_back(std::max<std::uint64_t>(unit >> shift, 1));
  }
  Weights narrow;
  narrow.assign_units(units);
  return narrow;
}

}  // namespace

void weighted_median(RowsView rows, const Weights& weights, std::span<float> out,
                     std::size_t threads) {
  if (!weights.is_narrow()) {  // the median of nearly the same weights is the one, or next to it
    weighted_median(rows, narrowed(weights), out, threads);
    return refine_median(rows, weights, out, nullptr, threads);
  }
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(median_range);
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      kernel(job, blocks.begin(block), blocks.end(block), scratch, out.data());
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
