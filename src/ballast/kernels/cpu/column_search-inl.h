// Weighted quantiles of many columns at once by search: count the weight on either side of a pivot
// and move the pivot until it is the wanted value. A pivot close to the answer, such as the median
// before one row changed, needs one to three counts. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#endif

#include "ballast/kernels/cpu/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// What one count tells about each lane's column: the weights strictly below and strictly above the
// pivot, and the nearest values there (infinite where there are none).
template <typename Width>
struct Count {
  Values<Width> pivot, lower, upper;
  Sums<Width> below, above;
};

template <typename Width>
HWY_INLINE Count<Width> count_around(const Columns<Width>& columns, Values<Width> pivot) {
  const typename Width::D d;
  const auto infinity = hn::Set(d, std::numeric_limits<typename Width::Value>::infinity());
  Count<Width> count{pivot, hn::Neg(infinity), infinity, broadcast<Width>(0), broadcast<Width>(0)};
  for (std::size_t i = 0; i < columns.count; ++i) {
    const auto value = columns.value(i);
    const auto weight = columns.weight(i);
    const auto is_below = hn::Lt(value, pivot), is_above = hn::Gt(value, pivot);
    count.below = add_where<Width>(is_below, count.below, weight);
    count.above = add_where<Width>(is_above, count.above, weight);
    count.lower = hn::IfThenElse(is_below, hn::Max(count.lower, value), count.lower);
    count.upper = hn::IfThenElse(is_above, hn::Min(count.upper, value), count.upper);
  }
  return count;
}

// How many times a pivot steps to the neighbouring value before the rest is bisected.
constexpr int kNeighbourSteps = 8;

// Where each lane's answer still lies, as keys (columns-inl.h).
template <typename Width>
struct Bracket {
  Sums<Width> low, high;

  // The middle, rounded down, without overflow: shared bits plus half of the different ones.
  HWY_INLINE Values<Width> middle() const {
    const auto half = hn::ShiftRight<1>(hn::Xor(low, high));
    return value_of<Width>(hn::Add(hn::And(low, high), half));
  }
};

// Finds in each lane's column the smallest value v with weight(rows <= v) >= target, starting at
// `pivot`. Ends with v as the pivot of the count it returns. Requires: 1 <= target <= total.
// Cost: one count for each step the slowest lane needs; at most kNeighbourSteps + one per bit.
template <typename Width>
HWY_INLINE Count<Width> search(const Columns<Width>& columns, Values<Width> pivot,
                               std::int64_t total, std::int64_t target) {
  const typename Width::D d;
  const typename Width::DW dw;
  const auto goal = broadcast<Width>(target), above_max = broadcast<Width>(total - target);
  const auto largest = hn::Set(d, std::numeric_limits<typename Width::Value>::max());
  Bracket<Width> bracket{key_of<Width>(hn::Neg(largest)), key_of<Width>(largest)};
  for (int step = 0;; ++step) {
    const Count<Width> count = count_around(columns, pivot);
    const auto needs_up = hn::Gt(count.above, above_max);
    const auto needs_down = hn::Not(hn::Lt(count.below, goal));
    const auto needs_move = hn::Or(needs_up, needs_down);
    if (hn::AllFalse(dw, needs_move)) return count;
    bracket.low = hn::IfThenElse(needs_up, key_of<Width>(count.upper), bracket.low);
    bracket.high = hn::IfThenElse(needs_down, key_of<Width>(count.lower), bracket.high);
    const auto neighbour = hn::IfThenElse(hn::RebindMask(d, needs_up), count.upper, count.lower);
    const auto next = step < kNeighbourSteps ? neighbour : bracket.middle();
    pivot = hn::IfThenElse(hn::RebindMask(d, needs_move), next, pivot);
  }
}

// The weighted median, given the count at its lower end: the mean with the upper neighbour where
// the rows up to the pivot weigh exactly half.
template <typename Width>
HWY_INLINE Values<Width> median_from(const Count<Width>& count, std::int64_t total) {
  if (total % 2 != 0) return hn::Add(count.pivot, hn::Zero(typename Width::D()));
  const auto is_tie = hn::Eq(count.above, broadcast<Width>(total / 2));
  const auto upper =
      hn::IfThenElse(hn::RebindMask(typename Width::D(), is_tie), count.upper, count.pivot);
  return midpoint<Width>(count.pivot, upper);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
