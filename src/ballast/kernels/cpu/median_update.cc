#include <atomic>
#include <cstring>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#ifndef BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
#define BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
namespace ballast::kernels::cpu {

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
#include "ballast/kernels/cpu/median_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// Follows one changed row in one whole vector of columns from the remembered state alone. Returns
// the lanes that need a look at the other rows; what is stored of those is a median to start from.
HWY_INLINE hn::Mask<Narrow::DW> follow_vector(const ColumnJob& job, const ChangedRow& row,
                                              std::size_t position, const MedianArrays& arrays) {
  const Narrow::DW dw;
  // Zeros of either sign are one value: adding zero makes them one key.
  const auto key_at = [](const float* from) HWY_ATTR {
    return key_of<Narrow>(hn::Add(Narrow::load(from), hn::Zero(Narrow::D())));
  };
  const auto before = key_at(row.old_values + position), after = key_at(row.new_values + position);
  auto median = key_of<Narrow>(Narrow::load(arrays.median));
  ColumnState state = load_state(arrays);
  const auto zero = hn::Zero(dw);
  const auto old_weight = broadcast<Narrow>(row.old_weight);
  const auto new_weight = broadcast<Narrow>(row.new_weight);

  const auto was_unknown = hn::Eq(state.at, zero);
  state.below = hn::Sub(state.below, hn::IfThenElseZero(hn::Lt(before, median), old_weight));
  state.at = hn::Sub(state.at, hn::IfThenElseZero(hn::Eq(before, median), old_weight));

  // Where the row was the only one at the median, the median follows it while it stays between the
  // neighbours.
  const auto stays_between =
      hn::And(hn::Gt(after, state.lower_key), hn::Lt(after, state.upper_key));
  median = hn::IfThenElse(hn::And(hn::Eq(state.at, zero), stays_between), after, median);

  const auto is_below = hn::Lt(after, median), is_above = hn::Gt(after, median);
  state.below = hn::Add(state.below, hn::IfThenElseZero(is_below, new_weight));
  state.at = hn::Add(state.at, hn::IfThenElseZero(hn::Eq(after, median), new_weight));
  state.lower_key = hn::IfThenElse(is_below, hn::Max(state.lower_key, after), state.lower_key);
  state.upper_key = hn::IfThenElse(is_above, hn::Min(state.upper_key, after), state.upper_key);
  Narrow::store(value_of<Narrow>(median), arrays.median);
  store_state(state, hn::Lanes(dw), arrays);

  // The median stays where the rows below hold less than half and those above hold less than half.
  const auto stays =
      hn::And(hn::Lt(state.below, broadcast<Narrow>((job.total + 1) / 2)),
              hn::Gt(hn::Add(state.below, state.at), broadcast<Narrow>(job.total / 2)));
  const auto is_known = hn::AndNot(was_unknown, hn::Gt(state.at, zero));
  return hn::Not(hn::And(is_known, stays));
}

// Columns that wait to be searched. They lie apart: gathering many at a time, row by row, lets the
// memory work on many at once, and full vectors of them are searched together.
class WaitingColumns {
 public:
  WaitingColumns(const ColumnJob& job, const ColumnScratch& scratch, const MedianArrays& arrays)
      : job_(job), scratch_(scratch), arrays_(arrays) {}

  // Takes the lanes of the vector of columns at `position` that the mask names.
  HWY_INLINE void take(hn::Mask<Narrow::DW> lanes, std::size_t position) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(Narrow::DW(), lanes, bytes);
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, sizeof(bits));
    for (; bits != 0; bits &= bits - 1) {
      take_column(position + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
    }
  }

  HWY_INLINE void take_column(std::size_t position) {
    positions_[count_++] = position;
    if (count_ == kCopiedColumns) search_all();
  }

  void search_all() {
    const std::size_t lanes = hn::Lanes(Narrow::D());
    float median[kCopiedColumns];
    std::uint32_t weights[kCopiedColumns], at_weights[kCopiedColumns], intervals[kCopiedColumns];
    const bool is_packed = arrays_.at_weights == nullptr;
    const MedianArrays found{median, weights, is_packed ? nullptr : at_weights, intervals};
    for (std::size_t k = 0; k < count_; ++k) median[k] = arrays_.median[positions_[k]];
    auto columns = gather_columns(columns_of<Narrow>(job_, 0), {positions_, count_}, scratch_);
    for (; columns.offset < count_; columns.offset += lanes) {
      refine_vector(job_, columns, HWY_MIN(lanes, count_ - columns.offset),
                    found.from(columns.offset));
    }
    for (std::size_t k = 0; k < count_; ++k) {
      const MedianArrays to = arrays_.from(positions_[k]);
      *to.median = median[k];
      *to.weights = weights[k];
      if (!is_packed) *to.at_weights = at_weights[k];
      *to.intervals = intervals[k];
    }
    searched_ += count_;
    count_ = 0;
  }
  std::size_t searched() const { return searched_; }

 private:
  const ColumnJob& job_;
  const ColumnScratch& scratch_;
  const MedianArrays& arrays_;
  std::size_t positions_[kCopiedColumns];
  std::size_t count_ = 0;
  std::size_t searched_ = 0;
};

// Returns the number of columns in which the other rows were read.
std::size_t update_range(const ColumnJob& job, const ChangedRow& row, std::size_t begin,
                         std::size_t end, const ColumnScratch& scratch,
                         const MedianArrays& arrays) {
  const Narrow::DW dw;
  const std::size_t lanes = hn::Lanes(dw);
  WaitingColumns waiting(job, scratch, arrays);
  std::size_t position = begin;
  for (; position + lanes <= end; position += lanes) {
    const auto unsettled = follow_vector(job, row, position, arrays.from(position));
    if (!hn::AllFalse(dw, unsettled)) waiting.take(unsettled, position);
  }
  for (; position < end; ++position) waiting.take_column(position);  // less than a vector
  waiting.search_all();
  return waiting.searched();
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(update_range);

double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                     std::span<float> median, host::MedianState& state, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(update_range);
  const MedianArrays arrays = median_arrays(median, &state);
  const ChangedRow row{change.old_values.data(), rows.pointer(change.row),
                       static_cast<std::int32_t>(change.old_weight),
                       static_cast<std::int32_t>(weights.units()[change.row])};
  const Blocks blocks(rows.dim());
  std::atomic<std::size_t> searched{0};
  with_column_job(rows, weights, [&](const ColumnJob& job) {
    parallel_for(threads, blocks.count(), [&](std::size_t block) {
      const ColumnScratch scratch = column_scratch(rows.row_count());
      searched += kernel(job, row, blocks.begin(block), blocks.end(block), scratch, arrays);
    });
  });
  return static_cast<double>(searched) / static_cast<double>(rows.dim());
}

}  // namespace ballast::kernels::cpu
#endif
