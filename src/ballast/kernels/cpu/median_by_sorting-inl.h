// Weighted medians of many columns at once by sorting. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#undef BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#else
#define BALLAST_KERNELS_CPU_MEDIAN_BY_SORTING_INL_H_
#endif

#include "ballast/kernels/cpu/columns/column_ranks-inl.h"
#include "ballast/kernels/cpu/median_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// The medians of kTogether vectors of columns that lie at `at` among the sorted ones. Only where
// the weight in order is half of an even total exactly are there two middle rows.
template <bool kIsEven, bool kRemembers, typename RowWeights>
HWY_INLINE void store_medians(const Columns<Narrow>& columns, const MedianPlan& plan,
                              const RowWeights& weights, const TaggedColumns& sorted,
                              std::size_t at, const MedianArrays& out) {
  const Narrow::DW dw;
  auto lower = find_quantiles<kRemembers>(columns, sorted, at, plan.sort, plan.lower, weights);
  if constexpr (kRemembers) {
    for (std::size_t v = 0; v < kTogether; ++v) {
      ColumnState state{hn::Sub(lower.through[v], lower.at[v]), lower.at[v], lower.lower[v],
                        lower.upper[v]};
      if constexpr (kIsEven) {
        const auto is_tie = hn::Eq(lower.through[v], hn::Set(dw, plan.lower.weight));
        state = unknown_where(is_tie, state, out);
      }
      store_state(state, kLanes, out.from(at + v * kLanes));
    }
  }
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
    Narrow::store(hn::Add(lower.values[v], hn::Zero(Narrow::D())), out.median + at + v * kLanes);
  }
}

// Writes the medians of kCopiedColumns columns. What lies between stays in the first-level cache.
template <bool kIsEven, bool kRemembers, typename RowWeights>
HWY_INLINE void sort_for_medians(const Columns<Narrow>& columns, const MedianPlan& plan,
                                 const RowWeights& weights, TaggedColumns& sorted,
                                 const MedianArrays& out) {
  sort_columns(columns, plan.sort, plan.lower.first_rank, plan.upper.last_rank, sorted);
  for (std::size_t at = 0; at < kCopiedColumns; at += kTogether * kLanes) {
    store_medians<kIsEven, kRemembers>(columns, plan, weights, sorted, at, out);
  }
}

// Memory for the medians of kCopiedColumns columns.
struct SomeMedians {
  float median[kCopiedColumns];
  std::uint32_t weights[kCopiedColumns], at_weights[kCopiedColumns], intervals[kCopiedColumns];

  // In the form of those that they will be copied to.
  MedianArrays arrays_like(const MedianArrays& others) {
    if (others.weights == nullptr) return {median, nullptr, nullptr, nullptr};
    return {median, weights, others.at_weights == nullptr ? nullptr : at_weights, intervals};
  }
};

// Copies one column's median and what is remembered of it.
HWY_INLINE void copy_median(const MedianArrays& from, const MedianArrays& to) {
  *to.median = *from.median;
  if (to.weights == nullptr) return;
  *to.weights = *from.weights;
  *to.intervals = *from.intervals;
  if (to.at_weights != nullptr) *to.at_weights = *from.at_weights;
}

template <bool kIsEven, bool kRemembers, typename RowWeights>
HWY_NOINLINE void medians_with(const ColumnJob& job, const MedianPlan& plan,
                               const RowWeights& weights, std::size_t begin, std::size_t end,
                               const ColumnScratch& scratch, const MedianArrays& arrays) {
  TaggedColumns sorted(job.narrow_weights.size());
  Columns<Narrow> columns = columns_of<Narrow>(job, begin);
  for (; columns.offset + kCopiedColumns <= end; columns.offset += kCopiedColumns) {
    sort_for_medians<kIsEven, kRemembers>(columns, plan, weights, sorted,
                                          arrays.from(columns.offset));
  }
  if (columns.offset == end) return;
  SomeMedians last;
  const MedianArrays found = last.arrays_like(arrays);
  const std::size_t width = end - columns.offset;
  sort_for_medians<kIsEven, kRemembers>(copy_columns(columns, width, scratch), plan, weights,
                                        sorted, found);
  for (std::size_t k = 0; k < width; ++k) {
    copy_median(found.from(k), arrays.from(columns.offset + k));
  }
}

// Calls use(is_even, remembers, weights), the first two of which are constants, as it asks for.
template <typename Use>
HWY_INLINE void with_median_kind(const MedianPlan& plan, std::size_t rows, bool remembers,
                                 const Use& use) {
  with_row_weights(plan.sort, rows, [&](const auto& weights) HWY_ATTR {
    const auto with_parity = [&](auto is_even) HWY_ATTR {
      if (remembers) {
        use(is_even, std::true_type(), weights);
      } else {
        use(is_even, std::false_type(), weights);
      }
    };
    if (plan.is_even()) {
      with_parity(std::true_type());
    } else {
      with_parity(std::false_type());
    }
  });
}

// The medians of the columns in [begin, end), and what is remembered of them. Requires: narrow
// weights that can_sort(), and their plan.
inline void medians_by_sorting(const ColumnJob& job, const MedianPlan& plan, std::size_t begin,
                               std::size_t end, const ColumnScratch& scratch,
                               const MedianArrays& arrays) {
  with_median_kind(plan, job.narrow_weights.size(), arrays.weights != nullptr,
                   [&](auto is_even, auto remembers, const auto& weights) HWY_ATTR {
                     medians_with<is_even.value, remembers.value>(job, plan, weights, begin, end,
                                                                  scratch, arrays);
                   });
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
