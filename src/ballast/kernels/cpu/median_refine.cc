#include <algorithm>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/median_refine.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/median_by_sorting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// How many vectors are counted before the first of them is searched: counts do not depend on each
// other, while each step of a search waits for the one before. With more of them at a time, tables
// that do not fit the cache are read more slowly.
constexpr std::size_t kCountedAhead = 2;

template <typename Width>
void refine_range_of(const ColumnJob& job, std::size_t begin, std::size_t end,
                     const ColumnScratch& scratch, const MedianArrays& arrays) {
  const std::size_t lanes = hn::Lanes(typename Width::D());
  Columns<Width> columns = columns_of<Width>(job, begin);
  while (columns.offset + kCountedAhead * lanes <= end) {
    Count<Width> counts[kCountedAhead];
    Columns<Width> ahead = columns;
    prefetch_columns(columns, 0, columns.count, kCountedAhead * lanes);
    for (Count<Width>& count : counts) {
      count = count_around(ahead, Width::load(arrays.median + ahead.offset));
      ahead.offset += lanes;
    }
    for (const Count<Width>& count : counts) {
      refine_from(job, columns, count, lanes, arrays.from(columns.offset));
      columns.offset += lanes;
    }
  }
  for_each_vector<Width>(job, columns.offset, end, scratch,
                         [&](const Columns<Width>& rest, std::size_t position, std::size_t width)
                             HWY_ATTR { refine_vector(job, rest, width, arrays.from(position)); });
}

void refine_range(const ColumnJob& job, const MedianPlan* plan, std::size_t begin, std::size_t end,
                  const ColumnScratch& scratch, const MedianArrays& arrays) {
  if (plan != nullptr) {
    medians_by_sorting(job, *plan, begin, end, scratch, arrays);
  } else if (job.is_narrow) {
    refine_range_of<Narrow>(job, begin, end, scratch, arrays);
  } else {
    refine_range_of<Wide>(job, begin, end, scratch, arrays);
  }
}

std::size_t sorted_rows_max_here() { return HWY_TARGET <= HWY_AVX3 ? kSortRowsMax : 20; }

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(refine_range);
HWY_EXPORT(sorted_rows_max_here);

std::size_t sorted_rows_max() { return HWY_DYNAMIC_DISPATCH(sorted_rows_max_here)(); }

void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                   host::MedianState* state, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(refine_range);
  if (!weights.is_narrow()) state = nullptr;
  if (state != nullptr) state->reset(rows.dim(), weights.total());
  const MedianArrays arrays = median_arrays(median, state);
  const Blocks blocks(rows.dim());
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    const auto plan = rows.row_count() <= sorted_rows_max() ? median_plan(job) : std::nullopt;
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      kernel(job, plan ? &*plan : nullptr, blocks.begin(block), blocks.end(block), scratch, arrays);
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
