#include <atomic>
#include <cstring>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/column_job.h"
#include "ballast/kernels/cpu/primitives.h"

#ifndef BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
#define BALLAST_KERNELS_CPU_MEDIAN_UPDATE_ONCE
namespace ballast::kernels::cpu {

// The median and the arrays of the MedianState that describes it (null: not wanted).
struct MedianArrays {
  float* median;
  std::uint32_t* weights;
  std::uint32_t* at_weights;  // null while the weights are packed
  std::uint32_t* intervals;

  MedianArrays from(std::size_t position) const {
    if (weights == nullptr) return {median + position, nullptr, nullptr, nullptr};
    return {median + position, weights + position,
            at_weights == nullptr ? nullptr : at_weights + position, intervals + position};
  }
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

HWY_INLINE void store_words(Sums<Narrow> values, std::size_t width, std::uint32_t* out) {
  const Narrow::DW dw;
  auto* words = reinterpret_cast<std::int32_t*>(out);
  if (width == hn::Lanes(dw)) return hn::StoreU(values, dw, words);
  std::int32_t lanes[64 / sizeof(std::int32_t)];
  hn::StoreU(values, dw, lanes);
  std::copy_n(lanes, width, words);
}

HWY_INLINE Sums<Narrow> load_words(const std::uint32_t* from) {
  return hn::LoadU(Narrow::DW(), reinterpret_cast<const std::int32_t*>(from));
}

// The state of one vector of columns, unpacked (see median_state.h).
struct ColumnState {
  Sums<Narrow> below, at, lower_key, upper_key;
};

HWY_INLINE ColumnState load_state(const MedianArrays& arrays) {
  const Narrow::DW dw;
  const auto high_half = hn::Set(dw, static_cast<std::int32_t>(0xFFFF0000));
  const auto weights = load_words(arrays.weights), intervals = load_words(arrays.intervals);
  ColumnState state;
  state.lower_key = hn::ShiftLeft<16>(intervals);
  state.upper_key = hn::And(intervals, high_half);
  state.below = weights;
  if (arrays.at_weights == nullptr) {
    const hn::RebindToUnsigned<Narrow::DW> du;
    state.below = hn::AndNot(high_half, weights);
    state.at = hn::BitCast(dw, hn::ShiftRight<16>(hn::BitCast(du, weights)));
  } else {
    state.at = load_words(arrays.at_weights);
  }
  return state;
}

HWY_INLINE void store_state(const ColumnState& state, std::size_t width,
                            const MedianArrays& arrays) {
  const Narrow::DW dw;
  const hn::RebindToUnsigned<Narrow::DW> du;
  const auto high_half = hn::Set(dw, static_cast<std::int32_t>(0xFFFF0000));
  const auto rounded_up = hn::Add(state.lower_key, hn::Set(dw, 0xFFFF));
  const auto lower = hn::BitCast(dw, hn::ShiftRight<16>(hn::BitCast(du, rounded_up)));
  store_words(hn::Or(lower, hn::And(state.upper_key, high_half)), width, arrays.intervals);
  if (arrays.at_weights == nullptr) {
    store_words(hn::Or(state.below, hn::ShiftLeft<16>(state.at)), width, arrays.weights);
  } else {
    store_words(state.below, width, arrays.weights);
    store_words(state.at, width, arrays.at_weights);
  }
}

// What a count tells. Lanes whose median lies between two values count as unknown.
HWY_INLINE ColumnState state_from(const Count<Narrow>& count, Values<Narrow> median,
                                  std::int64_t total) {
  const auto is_value = hn::RebindMask(Narrow::DW(), hn::Eq(median, count.pivot));
  const auto is_tie = hn::Eq(hn::Add(count.above, count.above), broadcast<Narrow>(total));
  const auto at = hn::Sub(hn::Sub(broadcast<Narrow>(total), count.below), count.above);
  const auto zero = hn::Zero(Narrow::D());  // added, it turns -0 into +0
  return {count.below, hn::IfThenElseZero(hn::AndNot(is_tie, is_value), at),
          key_of<Narrow>(hn::Add(count.lower, zero)), key_of<Narrow>(hn::Add(count.upper, zero))};
}

// Searches from the old median; returns whether any lane's median moved.
template <typename Width>
HWY_INLINE bool refine_vector(const ColumnJob& job, const Columns<Width>& columns,
                              std::size_t width, const MedianArrays& arrays) {
  const auto old_median = load_first<Width>(arrays.median, width);
  auto found = search(columns, old_median, job.total, (job.total + 1) / 2);
  const auto median = median_from(columns, found, job.total);
  store_first<Width>(median, width, arrays.median);
  if constexpr (std::is_same_v<Width, Narrow>) {
    if (arrays.weights != nullptr) {
      store_state(state_from(found.count, median, job.total), width, arrays);
    }
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
        moved += refine_vector(job, columns, width, arrays.from(position)) ? width : 0;
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

HWY_EXPORT(refine_range);
HWY_EXPORT(update_range);

namespace {

MedianArrays arrays_of(std::span<float> median, MedianState* state) {
  if (state == nullptr) return {median.data(), nullptr, nullptr, nullptr};
  return {median.data(), state->weights.data(),
          state->is_packed() ? nullptr : state->at_weights.data(), state->intervals.data()};
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
  if (!weights.is_narrow()) state = nullptr;
  if (state != nullptr) state->reset(rows.dim(), weights.total());
  const MedianArrays arrays = arrays_of(median, state);
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
