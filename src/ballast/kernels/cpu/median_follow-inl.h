// Medians that follow one changed row, from what is remembered of each column alone. Included once
// per instruction set.

#if defined(BALLAST_KERNELS_CPU_MEDIAN_FOLLOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_MEDIAN_FOLLOW_INL_H_
#undef BALLAST_KERNELS_CPU_MEDIAN_FOLLOW_INL_H_
#else
#define BALLAST_KERNELS_CPU_MEDIAN_FOLLOW_INL_H_
#endif

#include "ballast/kernels/cpu/median_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

using LaneMask = hn::Mask<Narrow::D>;

HWY_INLINE LaneMask lanes_where(hn::Mask<Narrow::DW> mask) {
  return hn::RebindMask(Narrow::D(), mask);
}
HWY_INLINE Sums<Narrow> weight_where(LaneMask mask, Sums<Narrow> weight) {
  const Narrow::DW dw;
  return hn::IfThenElseZero(hn::RebindMask(dw, mask), weight);
}

// One vector of columns: their medians and what is remembered of them.
struct MedianColumns {
  Values<Narrow> median;
  ColumnState state;
};

// Follows one row that changed, in a table of this total weight.
template <bool kIsPacked>
class RowFollower {
 public:
  RowFollower(const ChangedRow& row, std::int64_t total, const MedianArrays& arrays)
      : row_(row),
        total_(total),
        arrays_(arrays),
        old_weight_(hn::Set(Narrow::DW(), row.old_weight)),
        new_weight_(hn::Set(Narrow::DW(), row.new_weight)),
        below_end_(broadcast<Narrow>((total + 1) / 2)),
        half_(broadcast<Narrow>(total / 2)) {}

  // Brings the vector of columns at `position` up to date. Returns the lanes that need a look at
  // the other rows; what is stored of these is a median to start from.
  HWY_INLINE LaneMask follow(std::size_t position) const {
    const Narrow::D d;
    MedianColumns columns{Narrow::load(arrays_.median + position),
                          load_state<kIsPacked>(arrays_, position)};
    remove(Narrow::load(row_.old_values + position), columns);
    // Zeros of either sign are one value: adding zero turns -0 into +0.
    insert(hn::Add(Narrow::load(row_.new_values + position), hn::Zero(d)), columns);
    Narrow::store(columns.median, arrays_.median + position);
    store_state<kIsPacked>(columns.state, arrays_, position);
    return hn::Not(is_median(columns));
  }

  // Where the row came to lie between the median and a neighbour, it may be the new median, and the
  // old one its neighbour: then all that has to be known is known. For a column that needs a look
  // after follow(), with what was remembered of the neighbours before. False if it still does.
  HWY_INLINE bool lands(std::size_t position, std::uint32_t interval) const {
    using host::MedianState;
    const float value = row_.new_values[position] + 0.0f, median = arrays_.median[position];
    const std::uint32_t weights = arrays_.weights[position];
    std::int64_t below = kIsPacked ? weights & 0xFFFF : weights;
    const float lower = MedianState::lower_of(interval), upper = MedianState::upper_of(interval);
    if (value > lower && value < median) {
      below -= row_.new_weight;
      interval = MedianState::interval_of(lower, median);
    } else if (value > median && value < upper) {
      below += kIsPacked ? weights >> 16 : arrays_.at_weights[position];
      interval = MedianState::interval_of(median, upper);
    } else {
      return false;
    }
    if (2 * below >= total_ || 2 * (below + row_.new_weight) <= total_) return false;
    const auto at = static_cast<std::uint32_t>(row_.new_weight);
    arrays_.median[position] = value;
    arrays_.intervals[position] = interval;
    arrays_.weights[position] = static_cast<std::uint32_t>(below) | (kIsPacked ? at << 16 : 0);
    if constexpr (!kIsPacked) arrays_.at_weights[position] = at;
    return true;
  }

 private:
  HWY_INLINE void remove(Values<Narrow> value, MedianColumns& columns) const {
    ColumnState& state = columns.state;
    state.below = hn::Sub(state.below, weight_where(hn::Lt(value, columns.median), old_weight_));
    state.at = hn::Sub(state.at, weight_where(hn::Eq(value, columns.median), old_weight_));
  }

  // Where no other row is at the median, it follows the row while that stays between the
  // neighbours. Else it stays.
  HWY_INLINE void insert(Values<Narrow> value, MedianColumns& columns) const {
    ColumnState& state = columns.state;
    const auto is_alone = lanes_where(hn::Eq(state.at, hn::Zero(Narrow::DW())));
    const auto is_between = hn::And(hn::Gt(value, state.lower), hn::Lt(value, state.upper));
    columns.median = hn::IfThenElse(hn::And(is_alone, is_between), value, columns.median);
    const auto is_below = hn::Lt(value, columns.median), is_above = hn::Gt(value, columns.median);
    const auto is_at = hn::Eq(value, columns.median);
    state.below = hn::Add(state.below, weight_where(is_below, new_weight_));
    state.at = hn::Add(state.at, weight_where(is_at, new_weight_));
    state.lower = hn::Max(state.lower, hn::IfThenElse(is_below, value, state.lower));
    state.upper = hn::Min(state.upper, hn::IfThenElse(is_above, value, state.upper));
  }

  // The rows below hold less than half, and so do those above.
  HWY_INLINE LaneMask is_median(const MedianColumns& columns) const {
    const auto through = hn::Add(columns.state.below, columns.state.at);
    return lanes_where(hn::And(hn::Lt(columns.state.below, below_end_), hn::Gt(through, half_)));
  }

  const ChangedRow row_;
  const std::int64_t total_;
  const MedianArrays arrays_;
  const Sums<Narrow> old_weight_, new_weight_;
  const Sums<Narrow> below_end_, half_;  // below a median there is less weight, through it more
};

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
