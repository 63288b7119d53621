#include <algorithm>
#include <cmath>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/trim_cuts.h"

#ifndef BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
#define BALLAST_KERNELS_CPU_TRIMMED_MEAN_ONCE
namespace ballast::kernels::cpu {

// A column is cut at two values: the smallest up to which its rows weigh more than the low cut, and
// the smallest up to which they weigh the high one. Rows between them are kept; of the weight at
// either value, what lies between the cuts.
struct TrimPlan {
  TrimCuts cuts;
  std::int64_t low_target, high_target;  // the same as whole numbers to reach
  std::span<const double> weights;       // of the rows
};

// Some columns: the values at which they are cut, and the weight up to the low one and below the
// high one.
struct CutColumns {
  alignas(64) float low[kCopiedColumns], high[kCopiedColumns];
  alignas(64) double through_low[kCopiedColumns], below_high[kCopiedColumns];
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/trimmed_mean.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/column_ranks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE void store_doubles(Sums<Narrow> sums, double* to) {
  const Wide::D d;
  const hn::Rebind<std::int32_t, Wide::D> half;
  alignas(64) std::int32_t lanes[kLanes];
  hn::Store(sums, Narrow::DW(), lanes);
  for (std::size_t i = 0; i < kLanes; i += hn::Lanes(d)) {
    hn::Store(hn::PromoteTo(d, hn::Load(half, lanes + i)), d, to + i);
  }
}
HWY_INLINE void store_doubles(Sums<Wide> sums, double* to) {
  hn::Store(hn::ConvertTo(Wide::D(), sums), Wide::D(), to);
}

// Finds the cuts of up to kCopiedColumns columns by search.
template <typename Width>
void search_cuts(const ColumnJob& job, const TrimPlan& plan, std::size_t begin, std::size_t end,
                 const ColumnScratch& scratch, CutColumns& cut) {
  const std::size_t lanes = hn::Lanes(typename Width::D());
  for_each_copied_group<Width>(
      job, begin, end, scratch, kGuessed * lanes,
      [&](Columns<Width> columns, std::size_t position, std::size_t) HWY_ATTR {
        Cut<Width> lows[kGuessed], highs[kGuessed];
        guess_cuts(columns, job.total, plan.low_target, lows);
        guess_cuts(columns, job.total, plan.high_target, highs);
        for (std::size_t v = 0; v < kGuessed; ++v, columns.offset += lanes) {
          const std::size_t at = position - begin + v * lanes;
          const auto low = search(columns, lows[v], job.total, plan.low_target).count;
          const auto high = search(columns, highs[v], job.total, plan.high_target).count;
          const auto through_low = hn::Sub(broadcast<Width>(job.total), low.above);
          Width::store(low.pivot, cut.low + at);
          Width::store(high.pivot, cut.high + at);
          store_doubles(through_low, cut.through_low + at);
          store_doubles(high.below, cut.below_high + at);
        }
      });
}

// What a sort for the same looks for.
struct CutGoals {
  SortPlan sort;
  RankGoal low, high;
};

// Finds the cuts of kCopiedColumns columns by sorting.
template <typename RowWeights>
HWY_INLINE void sort_for_cuts(const Columns<Narrow>& columns, const CutGoals& goals,
                              const RowWeights& weights, TaggedColumns& sorted, CutColumns& cut) {
  sort_columns(columns, goals.sort, goals.low.first_rank, goals.high.last_rank, sorted);
  for (std::size_t at = 0; at < kCopiedColumns; at += kTogether * kLanes) {
    const auto low = find_quantiles(columns, sorted, at, goals.sort, goals.low, weights);
    const auto high = find_quantiles(columns, sorted, at, goals.sort, goals.high, weights);
    for (std::size_t v = 0; v < kTogether; ++v) {
      const std::size_t place = at + v * kLanes;
      Narrow::store(low.values[v], cut.low + place);
      Narrow::store(high.values[v], cut.high + place);
      store_doubles(low.through[v], cut.through_low + place);
      store_doubles(high.below[v], cut.below_high + place);
    }
  }
}

// Sums in double precision for kTogether vectors of columns.
constexpr std::size_t kParts = kLanes / hn::MaxLanes(Wide::D());
using DoubleSums = hn::Vec<Wide::D>[kTogether * kParts];

// Adds weight times value, row after row, where values lie strictly between the cuts.
#if HWY_TARGET <= HWY_AVX3  // which does so under a mask
HWY_INLINE void add_between(const Columns<Narrow>& columns, const TrimPlan& plan,
                            const CutColumns& cut, std::size_t at, float*, DoubleSums& sums) {
  const Wide::D d;
  const Narrow::D df;
  for (std::size_t i = 0; i < columns.count; ++i) {
    const float* row = columns.rows[i] + columns.offset + at;
    const auto weight = hn::Set(d, plan.weights[i]);
    for (std::size_t v = 0; v < kTogether; ++v) {
      const auto value = Narrow::load(row + v * kLanes);
      const auto is_between = hn::And(hn::Gt(value, hn::Load(df, cut.low + at + v * kLanes)),
                                      hn::Lt(value, hn::Load(df, cut.high + at + v * kLanes)));
      for (std::size_t k = 0; k < kParts; ++k) {
        auto& sum = sums[v * kParts + k];
        const hn::Mask<Wide::D> part{static_cast<__mmask8>(is_between.raw >> (8 * k))};
        const auto more = hn::MulAdd(weight, Wide::load(row + v * kLanes + 8 * k), sum);
        sum = hn::IfThenElse(part, more, sum);
      }
    }
  }
}
#else  // Elsewhere all rows are added, from copies with zeros in place of what lies outside.
HWY_INLINE void add_between(const Columns<Narrow>& columns, const TrimPlan& plan,
                            const CutColumns& cut, std::size_t at, float* copies,
                            DoubleSums& sums) {
  const Wide::D d;
  const Narrow::D df;
  Values<Narrow> low[kTogether], high[kTogether];
  for (std::size_t v = 0; v < kTogether; ++v) {
    low[v] = hn::Load(df, cut.low + at + v * kLanes);
    high[v] = hn::Load(df, cut.high + at + v * kLanes);
  }
  for (std::size_t i = 0; i < columns.count; ++i) {
    const float* row = columns.rows[i] + columns.offset + at;
    float* copy = copies + i * kCopiedColumns + at;
    for (std::size_t v = 0; v < kTogether; ++v) {
      const auto value = Narrow::load(row + v * kLanes);
      const auto is_between = hn::And(hn::Gt(value, low[v]), hn::Lt(value, high[v]));
      hn::Store(hn::IfThenElseZero(is_between, value), df, copy + v * kLanes);
    }
  }
  for (std::size_t i = 0; i < columns.count; ++i) {
    const float* copy = copies + i * kCopiedColumns + at;
    const auto weight = hn::Set(d, plan.weights[i]);
    for (std::size_t k = 0; k < kTogether * kParts; ++k) {
      sums[k] = hn::MulAdd(weight, Wide::load(copy + k * hn::Lanes(d)), sums[k]);
    }
  }
}
#endif

// The means of kTogether vectors of columns. Where both cuts are at one value, it is the mean.
HWY_INLINE void store_means(const Columns<Narrow>& columns, const TrimPlan& plan,
                            const CutColumns& cut, std::size_t at, float* copies,
                            float* HWY_RESTRICT out) {
  const Wide::D d;
  DoubleSums sums;
  for (auto& sum : sums) sum = hn::Zero(d);
  add_between(columns, plan, cut, at, copies, sums);
  const auto low_cut = hn::Set(d, plan.cuts.low), high_cut = hn::Set(d, plan.cuts.high);
  const auto share = hn::Set(d, 1.0 / (plan.cuts.high - plan.cuts.low));
  for (std::size_t k = 0; k < kTogether * kParts; ++k) {
    const std::size_t place = at + k * hn::Lanes(d);
    const auto low = Wide::load(cut.low + place), high = Wide::load(cut.high + place);
    const auto low_kept = hn::Sub(hn::Load(d, cut.through_low + place), low_cut);
    const auto high_kept = hn::Sub(high_cut, hn::Load(d, cut.below_high + place));
    const auto sum = hn::MulAdd(high_kept, high, hn::MulAdd(low_kept, low, sums[k]));
    const auto mean = hn::IfThenElse(hn::Eq(low, high), low, hn::Mul(sum, share));
    Wide::store(mean, out + place);
  }
}

// Writes the means of the columns in [begin, end). find_cuts(columns, width) is called for
// kCopiedColumns of them at a time, of which the last may have only `width`; it fills `cut` and
// returns the columns or copies of them.
template <typename FindCuts>
HWY_INLINE void store_means_of(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                               std::size_t end, const ColumnScratch& scratch, const CutColumns& cut,
                               float* HWY_RESTRICT out, const FindCuts& find_cuts) {
  Columns<Narrow> columns = columns_of<Narrow>(job, begin);
  for (; columns.offset < end; columns.offset += kCopiedColumns) {
    const std::size_t width = std::min(kCopiedColumns, end - columns.offset);
    const Columns<Narrow> found = find_cuts(columns, width);
    float last[kCopiedColumns];
    float* means = width == kCopiedColumns ? out + columns.offset : last;
    for (std::size_t at = 0; at < kCopiedColumns; at += kTogether * kLanes) {
      store_means(found, plan, cut, at, scratch.copies, means);
    }
    if (means == last) std::copy_n(last, width, out + columns.offset);
  }
}

template <typename Width>
void trimmed_means_by_search(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                             std::size_t end, const ColumnScratch& scratch, float* out) {
  CutColumns cut{};
  store_means_of(job, plan, begin, end, scratch, cut, out,
                 [&](const Columns<Narrow>& columns, std::size_t width) HWY_ATTR {
                   search_cuts<Width>(job, plan, columns.offset, columns.offset + width, scratch,
                                      cut);
                   return width == kCopiedColumns ? columns : copy_columns(columns, width, scratch);
                 });
}

void trimmed_means_by_sorting(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                              std::size_t end, const ColumnScratch& scratch, float* out) {
  const auto weights = job.narrow_weights;
  const CutGoals goals{make_sort_plan(weights), make_rank_goal(weights, plan.low_target),
                       make_rank_goal(weights, plan.high_target)};
  CutColumns cut{};
  TaggedColumns sorted;
  with_row_weights(goals.sort, weights.size(), [&](const auto& row_weights) HWY_ATTR {
    store_means_of(job, plan, begin, end, scratch, cut, out,
                   [&](const Columns<Narrow>& columns, std::size_t width) HWY_ATTR {
                     const bool is_whole = width == kCopiedColumns;
                     const auto used = is_whole ? columns : copy_columns(columns, width, scratch);
                     sort_for_cuts(used, goals, row_weights, sorted, cut);
                     return used;
                   });
  });
}

void trimmed_mean_range(const ColumnJob& job, const TrimPlan& plan, std::size_t begin,
                        std::size_t end, const ColumnScratch& scratch, float* out) {
  if (!job.is_narrow) {
    trimmed_means_by_search<Wide>(job, plan, begin, end, scratch, out);
  } else if (can_sort(job.narrow_weights)) {
    trimmed_means_by_sorting(job, plan, begin, end, scratch, out);
  } else {
    trimmed_means_by_search<Narrow>(job, plan, begin, end, scratch, out);
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(trimmed_mean_range);

namespace {

// The memory of the doubles is kept per calling thread.
TrimPlan make_trim_plan(const Weights& weights, double trim) {
  static thread_local std::vector<double> doubles;
  doubles.assign(weights.units().begin(), weights.units().end());
  const TrimCuts cuts = trim_cuts(trim, weights.total());
  const auto total = static_cast<std::int64_t>(weights.total());
  const auto high = static_cast<std::int64_t>(std::ceil(cuts.high));
  return {cuts, static_cast<std::int64_t>(cuts.low) + 1, std::min(high, total), doubles};
}

}  // namespace

void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim, std::span<float> out,
                           std::size_t threads) {
  const Blocks blocks(rows.dim());
  const auto kernel = HWY_DYNAMIC_DISPATCH(trimmed_mean_range);
  const TrimPlan plan = make_trim_plan(weights, trim);
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      kernel(job, plan, blocks.begin(block), blocks.end(block), column_scratch(rows.row_count()),
             out.data());
    });
  });
}

}  // namespace ballast::kernels::cpu
#endif
