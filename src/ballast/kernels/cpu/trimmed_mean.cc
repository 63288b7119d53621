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
  bool keeps_little;                     // between them
  std::int64_t low_target, high_target;  // the same as whole numbers to reach
  std::span<const double> weights;       // of the rows
};

// The values at which some columns are cut.
struct CutColumns {
  alignas(64) float low[kCopiedColumns], high[kCopiedColumns];
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
          const auto low = search(columns, lows[v], job.total, plan.low_target);
          const auto high = search(columns, highs[v], job.total, plan.high_target);
          Width::store(low.count.pivot, cut.low + at);
          Width::store(high.count.pivot, cut.high + at);
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
    }
  }
}

// Sums in double precision for kTogether vectors of columns.
constexpr std::size_t kParts = kLanes / hn::MaxLanes(Wide::D());
using DoubleSums = hn::Vec<Wide::D>[kTogether * kParts];

// Adds weight times value, row after row, with the values beyond a cut moved to it. They go through
// copies, since from memory floats become doubles at twice the pace.
HWY_INLINE void add_clamped(const Columns<Narrow>& columns, const TrimPlan& plan,
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
      hn::Store(hn::Min(hn::Max(value, low[v]), high[v]), df, copy + v * kLanes);
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

// What is kept of the weight of each row times its value, for the columns of one vector of doubles.
HWY_INLINE hn::Vec<Wide::D> sum_kept(const Columns<Narrow>& columns, const TrimPlan& plan,
                                     std::size_t at, hn::Vec<Wide::D> low, hn::Vec<Wide::D> high) {
  const Wide::D d;
  auto between = hn::Zero(d), through_low = between, below_high = between;
  for (std::size_t i = 0; i < columns.count; ++i) {
    const auto value = Wide::load(columns.rows[i] + columns.offset + at);
    const auto weight = hn::Set(d, plan.weights[i]);
    const auto is_low = hn::Le(value, low), is_below = hn::Lt(value, high);
    through_low = hn::Add(through_low, hn::IfThenElseZero(is_low, weight));
    below_high = hn::Add(below_high, hn::IfThenElseZero(is_below, weight));
    const auto kept = hn::IfThenElseZero(hn::AndNot(is_low, is_below), value);
    between = hn::MulAdd(weight, kept, between);
  }
  const auto low_kept = hn::Sub(through_low, hn::Set(d, plan.cuts.low));
  const auto high_kept = hn::Sub(hn::Set(d, plan.cuts.high), below_high);
  return hn::MulAdd(high_kept, high, hn::MulAdd(low_kept, low, between));
}

// The means of kTogether vectors of columns. Where both cuts are at one value, it is the mean. What
// is trimmed at either end was moved to the cut there, so it is the weight trimmed times its value.
HWY_INLINE void store_means(const Columns<Narrow>& columns, const TrimPlan& plan,
                            const CutColumns& cut, std::size_t at, float* copies,
                            float* HWY_RESTRICT out) {
  const Wide::D d;
  DoubleSums sums;
  for (auto& sum : sums) sum = hn::Zero(d);
  if (!plan.keeps_little) add_clamped(columns, plan, cut, at, copies, sums);
  const auto low_cut = hn::Set(d, plan.cuts.low);
  const auto share = hn::Set(d, 1.0 / (plan.cuts.high - plan.cuts.low));
  for (std::size_t k = 0; k < kTogether * kParts; ++k) {
    const std::size_t place = at + k * hn::Lanes(d);
    const auto low = Wide::load(cut.low + place), high = Wide::load(cut.high + place);
    const auto sum = plan.keeps_little ? sum_kept(columns, plan, place, low, high)
                                       : hn::NegMulAdd(low_cut, hn::Add(low, high), sums[k]);
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
  TaggedColumns sorted(weights.size());
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

// Below this share of the weight, the sum of all rows may lose digits that those kept need.
constexpr double kLittle = 0.125;

// The memory of the doubles is kept per calling thread.
TrimPlan make_trim_plan(const Weights& weights, double trim) {
  static thread_local std::vector<double> doubles;
  doubles.assign(weights.units().begin(), weights.units().end());
  const TrimCuts cuts = trim_cuts(trim, weights.total());
  const auto total = static_cast<std::int64_t>(weights.total());
  const auto high = static_cast<std::int64_t>(std::ceil(cuts.high));
  const bool keeps_little = cuts.high - cuts.low < kLittle * static_cast<double>(total);
  return {cuts, keeps_little, static_cast<std::int64_t>(cuts.low) + 1, std::min(high, total),
          doubles};
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
