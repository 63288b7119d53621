#include <atomic>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#ifndef BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
#define BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
namespace ballast::kernels::cpu {

// The arrays of a MedianState (null: not wanted), and the median they describe.
struct MedianArrays {
  float* median;
  std::int32_t* below;
  std::int32_t* at;
  float* lower;
  float* upper;
};

// The row that changed.
struct ChangedRow {
  const float* old_values;
  const float* new_values;
  std::int32_t old_weight;
  std::int32_t new_weight;
};

}  // namespace ballast::kernels::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/median_update.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/column_search-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

template <typename Width>
HWY_INLINE Values<Width> load_first(const float* from, std::size_t width) {
  if (width == hn::Lanes(typename Width::D())) return Width::load(from);
  float lanes[64 / sizeof(float)] = {};
  std::copy_n(from, width, lanes);
  return Width::load(lanes);
}

HWY_INLINE void store_first(Sums<Narrow> values, std::size_t width,
                            std::int32_t* HWY_RESTRICT out) {
  const Narrow::DW dw;
  std::int32_t lanes[64 / sizeof(std::int32_t)];
  hn::StoreU(values, dw, lanes);
  std::copy_n(lanes, width, out);
}

// Remembers what the last count told. Lanes whose median lies between two values count as unknown.
HWY_INLINE void store_state(const Count<Narrow>& count, Values<Narrow> median, std::int64_t total,
                            std::size_t width, const MedianArrays& arrays) {
  const auto is_value = hn::RebindMask(Narrow::DW(), hn::Eq(median, count.pivot));
  const auto is_tie = hn::Eq(hn::Add(count.above, count.above), broadcast<Narrow>(total));
  const auto at = hn::Sub(hn::Sub(broadcast<Narrow>(total), count.below), count.above);
  const auto known_at = hn::IfThenElseZero(hn::AndNot(is_tie, is_value), at);
  store_first(count.below, width, arrays.below);
  store_first(known_at, width, arrays.at);
  store_first<Narrow>(count.lower, width, arrays.lower);
  store_first<Narrow>(count.upper, width, arrays.upper);
}

HWY_INLINE MedianArrays at_position(const MedianArrays& arrays, std::size_t position) {
  if (arrays.below == nullptr)
    return {arrays.median + position, nullptr, nullptr, nullptr, nullptr};
  return {arrays.median + position, arrays.below + position, arrays.at + position,
          arrays.lower + position, arrays.upper + position};
}

// Searches from the old median; returns whether any lane's median moved.
template <typename Width>
HWY_INLINE bool refine_vector(const ColumnJob& job, const Columns<Width>& columns,
                              std::size_t width, const MedianArrays& arrays) {
  const auto old_median = load_first<Width>(arrays.median, width);
  const auto count = search(columns, old_median, job.total, (job.total + 1) / 2);
  const auto median = median_from(count, job.total);
  store_first<Width>(median, width, arrays.median);
  if constexpr (std::is_same_v<Width, Narrow>) {
    if (arrays.below != nullptr) store_state(count, median, job.total, width, arrays);
  }
  return !hn::AllTrue(typename Width::D(), hn::Eq(median, old_median));
}

template <typename Width>
std::size_t refine_range_of(const ColumnJob& job, std::size_t begin, std::size_t end,
                            const ColumnScratch& scratch, const MedianArrays& arrays) {
  std::size_t moved = 0;
  for_each_vector<Width>(
      job, begin, end, scratch,
      [&](const Columns<Width>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        moved += refine_vector(job, columns, width, at_position(arrays, position)) ? width : 0;
      });
  return moved;
}

// Returns the number of columns in vectors where some median moved.
std::size_t refine_range(const ColumnJob& job, std::size_t begin, std::size_t end,
                         const ColumnScratch& scratch, const MedianArrays& arrays) {
  return job.is_narrow ? refine_range_of<Narrow>(job, begin, end, scratch, arrays)
                       : refine_range_of<Wide>(job, begin, end, scratch, arrays);
}

// Follows one changed row in one whole vector of columns from the remembered state alone. Returns
// false, and stores nothing, if some lane needs a look at the other rows.
HWY_INLINE bool follow_vector(const ColumnJob& job, const ChangedRow& row, std::size_t position,
                              const MedianArrays& arrays) {
  const Narrow::D d;
  const Narrow::DW dw;
  const auto before = hn::LoadU(d, row.old_values + position);
  const auto after = hn::LoadU(d, row.new_values + position);
  auto median = hn::LoadU(d, arrays.median);
  auto lower = hn::LoadU(d, arrays.lower), upper = hn::LoadU(d, arrays.upper);
  auto below = hn::LoadU(dw, arrays.below);
  const auto old_at = hn::LoadU(dw, arrays.at);
  const auto old_weight = broadcast<Narrow>(row.old_weight);
  const auto new_weight = broadcast<Narrow>(row.new_weight);

  const auto was_below = hn::RebindMask(dw, hn::Lt(before, median));
  const auto was_at = hn::RebindMask(dw, hn::Eq(before, median));
  below = hn::Sub(below, hn::IfThenElseZero(was_below, old_weight));
  auto at = hn::Sub(old_at, hn::IfThenElseZero(was_at, old_weight));

  // Where the row was the only one at the median, the median follows it while it stays between the
  // neighbours.
  const auto is_free = hn::And(hn::Eq(at, hn::Zero(dw)), hn::Gt(old_at, hn::Zero(dw)));
  const auto stays_between = hn::And(hn::Gt(after, lower), hn::Lt(after, upper));
  const auto follows = hn::And(hn::RebindMask(d, is_free), stays_between);
  median = hn::IfThenElse(follows, after, median);

  const auto is_below = hn::Lt(after, median), is_above = hn::Gt(after, median);
  below = hn::Add(below, hn::IfThenElseZero(hn::RebindMask(dw, is_below), new_weight));
  at = hn::Add(at, hn::IfThenElseZero(hn::RebindMask(dw, hn::Eq(after, median)), new_weight));
  lower = hn::IfThenElse(is_below, hn::Max(lower, after), lower);
  upper = hn::IfThenElse(is_above, hn::Min(upper, after), upper);

  // The median stays where the rows below hold less than half and those above hold less than half.
  const auto through = hn::Add(below, at);
  const auto is_known = hn::And(hn::Gt(old_at, hn::Zero(dw)), hn::Gt(at, hn::Zero(dw)));
  const auto stays = hn::And(hn::Lt(below, broadcast<Narrow>((job.total + 1) / 2)),
                             hn::Gt(through, broadcast<Narrow>(job.total / 2)));
  if (!hn::AllTrue(dw, hn::And(is_known, stays))) return false;
  hn::StoreU(hn::Add(median, hn::Zero(d)), d, arrays.median);
  hn::StoreU(below, dw, arrays.below);
  hn::StoreU(at, dw, arrays.at);
  hn::StoreU(lower, d, arrays.lower);
  hn::StoreU(upper, d, arrays.upper);
  return true;
}

// Returns the number of columns in vectors where the other rows were read.
std::size_t update_range(const ColumnJob& job, const ChangedRow& row, std::size_t begin,
                         std::size_t end, const ColumnScratch& scratch,
                         const MedianArrays& arrays) {
  std::size_t read = 0;
  const std::size_t lanes = hn::Lanes(Narrow::D());
  for_each_vector<Narrow>(
      job, begin, end, scratch,
      [&](const Columns<Narrow>& columns, std::size_t position, std::size_t width) HWY_ATTR {
        const MedianArrays here = at_position(arrays, position);
        if (width == lanes && follow_vector(job, row, position, here)) return;
        refine_vector(job, columns, width, here);
        read += width;
      });
  return read;
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(refine_range);
HWY_EXPORT(update_range);

namespace {

MedianArrays arrays_of(std::span<float> median, MedianState* state) {
  if (state == nullptr) return {median.data(), nullptr, nullptr, nullptr, nullptr};
  return {median.data(), reinterpret_cast<std::int32_t*>(state->below.data()),
          reinterpret_cast<std::int32_t*>(state->at.data()), state->lower.data(),
          state->upper.data()};
}

// Runs the kernel over all blocks and returns the share of columns it counted.
template <typename Kernel>
double share_of_columns(RowsView rows, const Weights& weights, std::size_t threads,
                        const Kernel& kernel) {
  const Blocks blocks(rows.dim());
  std::atomic<std::size_t> counted{0};
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      counted += kernel(job, blocks.begin(block), blocks.end(block), scratch);
    });
  });
  return static_cast<double>(counted) / static_cast<double>(rows.dim());
}

}  // namespace

double refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                     MedianState* state, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(refine_range);
  const MedianArrays arrays = arrays_of(median, weights.is_narrow() ? state : nullptr);
  return share_of_columns(
      rows, weights, threads,
      [&](const ColumnJob& job, std::size_t begin, std::size_t end, const ColumnScratch& scratch) {
        return kernel(job, begin, end, scratch, arrays);
      });
}

double update_median(RowsView rows, const Weights& weights, const RowChange& change,
                     std::span<float> median, MedianState& state, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(update_range);
  const MedianArrays arrays = arrays_of(median, &state);
  const ChangedRow row{change.old_values.data(), rows.pointer(change.row),
                       static_cast<std::int32_t>(change.old_weight),
                       static_cast<std::int32_t>(weights.units()[change.row])};
  return share_of_columns(
      rows, weights, threads,
      [&](const ColumnJob& job, std::size_t begin, std::size_t end, const ColumnScratch& scratch) {
        return kernel(job, row, begin, end, scratch, arrays);
      });
}

}  // namespace ballast::kernels::cpu
#endif
