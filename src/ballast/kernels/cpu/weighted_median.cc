#include <algorithm>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/weighted_median.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/column_candidates-inl.h"
#include "ballast/kernels/cpu/median_by_sorting-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// Of how many rows, by weight, the answer is picked.
constexpr std::int64_t kFewRows = 12;

// Cuts until few rows are left in each column and looks at these. Where that does not come about,
// as among many equal values, goes from neighbour to neighbour instead.
HWY_INLINE void medians_of_group(Columns<Narrow> columns, std::int64_t total, std::size_t width,
                                 Ahead ahead, float* HWY_RESTRICT out) {
  const std::int64_t target = (total + 1) / 2;
  const auto row_weight = total / static_cast<std::int64_t>(columns.count);
  Guess<Narrow> guess(columns, total, target, kToEnclose);
  const std::size_t end = ahead.offset + ahead.count;
  for (; ahead.offset < end; ahead.offset += kLineFloats) guess.cut<true>(columns, target, ahead);
  while (guess.tries < kTries && !guess.is_within(kFewRows * row_weight)) {
    guess.cut(columns, target);
  }
  Candidates candidates;
  const bool is_gathered = gather_candidates(columns, guess.brackets, candidates);
  while (!is_gathered && guess.tries < kTries) guess.cut(columns, target);
  for (std::size_t v = 0; v * kLanes < width; ++v, columns.offset += kLanes) {
    const CutBracket<Narrow>& bracket = guess.brackets[v];
    const std::size_t most = candidates.most(v * kLanes, (v + 1) * kLanes);
    auto found = is_gathered && most <= kCandidates
                     ? found_among(candidates, v, most, bracket, total, target)
                     : search(columns, bracket.nearer(target), total, target);
    store_first<Narrow>(median_from(columns, found, total), HWY_MIN(kLanes, width - v * kLanes),
                        out + v * kLanes);
  }
}

void medians_by_search(const ColumnJob& job, std::size_t begin, std::size_t end,
                       const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  for_each_copied_group<Narrow>(
      job, begin, end, scratch, kGroupColumns,
      [&](const Columns<Narrow>& columns, std::size_t position, std::size_t width,
          const Ahead& ahead)
          HWY_ATTR { medians_of_group(columns, job.total, width, ahead, out + position); });
}

void median_range(const ColumnJob& job, const MedianPlan* plan, std::size_t begin, std::size_t end,
                  const ColumnScratch& scratch, const MedianArrays& arrays) {
  if (plan != nullptr) return medians_by_sorting(job, *plan, begin, end, scratch, arrays);
  medians_by_search(job, begin, end, scratch, arrays.median);
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
  const MedianArrays arrays = median_arrays(out, nullptr);
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    const auto plan = median_plan(job);
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      kernel(job, plan ? &*plan : nullptr, blocks.begin(block), blocks.end(block), scratch, arrays);
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
