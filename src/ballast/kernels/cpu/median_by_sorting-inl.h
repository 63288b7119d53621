// Weighted medians of many columns at once by sorting. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#undef BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#else
#define BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#endif

#include "ballast/kernels/cpu/columns/column_ranks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// The median is where the weight in order reaches the lower goal, or, of an even total, the mean of
// that and where it reaches the upper one, which is one more.
struct MedianPlan {
  SortPlan sort;
  RankGoal lower, upper;
};

// The medians of kTogether vectors of columns that lie at `at` among the sorted ones. Only where
// the weight in order is half of an even total exactly are there two middle rows.
template <bool kIsEven, typename RowWeights>
HWY_INLINE void store_medians(const Columns<Narrow>& columns, const MedianPlan& plan,
                              const RowWeights& weights, const TaggedColumns& sorted,
                              std::size_t at, float* HWY_RESTRICT out) {
  const Narrow::DW dw;
  auto lower = find_quantiles(columns, sorted, at, plan.sort, plan.lower, weights);
  if constexpr (kIsEven) {
    auto is_exact = hn::MaskFromVec(hn::Zero(dw));
    for (const auto through : lower.through) {
      is_exact = hn::Or(is_exact, hn::Eq(through, hn::Set(dw, plan.lower.weight)));
    }
    if (!hn::AllFalse(dw, is_exact)) {
      const auto upper = find_quantiles(columns, sorted, at, plan.sort, plan.upper, weights);
      for (std::size_t v = 0; v < kTogether; ++v) {
        lower.values[v] = midpoint<Narrow>(lower.values[v], upper.values[v]);
      }
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    Narrow::store(hn::Add(lower.values[v], hn::Zero(Narrow::D())), out + at + v * kLanes);
  }
}

// Writes the medians of kCopiedColumns columns. What lies between stays in the first-level cache.
template <bool kIsEven, typename RowWeights>
HWY_INLINE void sort_for_medians(const Columns<Narrow>& columns, const MedianPlan& plan,
                                 const RowWeights& weights, TaggedColumns& sorted,
                                 float* HWY_RESTRICT out) {
  sort_columns(columns, plan.sort, plan.lower.first_rank, plan.upper.last_rank, sorted);
  for (std::size_t at = 0; at < kCopiedColumns; at += kTogether * kLanes) {
    store_medians<kIsEven>(columns, plan, weights, sorted, at, out);
  }
}

template <bool kIsEven, typename RowWeights>
HWY_NOINLINE void medians_with(const ColumnJob& job, const MedianPlan& plan,
                               const RowWeights& weights, std::size_t begin, std::size_t end,
                               const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  TaggedColumns sorted;
  Columns<Narrow> columns = columns_of<Narrow>(job, begin);
  for (; columns.offset + kCopiedColumns <= end; columns.offset += kCopiedColumns) {
    sort_for_medians<kIsEven>(columns, plan, weights, sorted, out + columns.offset);
  }
  if (columns.offset == end) return;
  float last[kCopiedColumns];
  const std::size_t width = end - columns.offset;
  sort_for_medians<kIsEven>(copy_columns(columns, width, scratch), plan, weights, sorted, last);
  std::copy_n(last, width, out + columns.offset);
}

// The medians of the columns in [begin, end). Requires: narrow weights that can_sort().
inline void medians_by_sorting(const ColumnJob& job, std::size_t begin, std::size_t end,
                               const ColumnScratch& scratch, float* out) {
  const auto weights = job.narrow_weights;
  MedianPlan plan{make_sort_plan(weights), make_rank_goal(weights, (job.total + 1) / 2),
                  make_rank_goal(weights, job.total / 2 + 1)};
  plan.sort.is_far = is_far(job);
  with_row_weights(plan.sort, weights.size(), [&](const auto& row_weights) HWY_ATTR {
    if (job.total % 2 == 0) {
      medians_with<true>(job, plan, row_weights, begin, end, scratch, out);
    } else {
      medians_with<false>(job, plan, row_weights, begin, end, scratch, out);
    }
  });
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
