#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/weighted_median.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/column_guess-inl.h"
#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/median_by_sorting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

template <typename Width>
void search_range(const ColumnJob& job, std::size_t begin, std::size_t end,
                  const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  const std::int64_t target = (job.total + 1) / 2;
  for_each_copied_vector<Width>(
      job, begin, end, scratch,
      [&](const Columns<Width>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        const auto guess = guess_quantile(columns, job.total, target);
        auto found = search(columns, count_around(columns, guess), job.total, target);
        store_first<Width>(median_from(columns, found, job.total), width, out + position);
      });
}

void median_range(const ColumnJob& job, std::size_t begin, std::size_t end,
                  const ColumnScratch& scratch, float* out) {
  if (!job.is_narrow) return search_range<Wide>(job, begin, end, scratch, out);
  if (can_sort(job.narrow_weights)) return medians_by_sorting(job, begin, end, scratch, out);
  search_range<Narrow>(job, begin, end, scratch, out);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(median_range);

void weighted_median(RowsView rows, const Weights& weights, std::span<float> out,
                     std::size_t threads) {
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
