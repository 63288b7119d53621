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

// The weight of the rows with exactly this value.
template <typename Width>
HWY_INLINE Sums<Width> weight_at(const Columns<Width>& columns, Values<Width> value) {
  Sums<Width> sum = broadcast<Width>(0);
  for (std::size_t i = 0; i < columns.count; ++i) {
    sum = add_where<Width>(hn::Eq(columns.value(i), value), sum, columns.weight(i));
  }
  return sum;
}

// What a search ended with. Between the pivot and its neighbours lies no other value; where the
// last step was taken without a count, a neighbour may be the pivot itself, which is true but tells
// little.
template <typename Width>
struct Found {
  Count<Width> count;
  bool has_neighbours;
};

// Which lanes have to go up or down to reach the smallest value v with weight(rows <= v) >= target.
template <typename Width>
struct Moves {
  using Mask = decltype(hn::Lt(Sums<Width>(), Sums<Width>()));
  Mask up, any;

  HWY_INLINE Moves(const Count<Width>& count, std::int64_t total, std::int64_t target) {
    up = hn::Gt(count.above, broadcast<Width>(total - target));
    any = hn::Or(up, hn::Not(hn::Lt(count.below, broadcast<Width>(target))));
  }
  HWY_INLINE bool are_none() const { return hn::AllFalse(typename Width::DW(), any); }
};

// The count at the neighbour on the way, from the weight there alone.
template <typename Width>
HWY_INLINE Count<Width> step_to_neighbour(const Columns<Width>& columns, Count<Width> count,
                                          const Moves<Width>& moves, std::int64_t total) {
  const typename Width::D d;
  const auto down = hn::AndNot(moves.up, moves.any);
  const auto neighbour = hn::IfThenElse(hn::RebindMask(d, moves.up), count.upper, count.lower);
  const auto weight = weight_at(columns, neighbour);
  const auto through = hn::Sub(broadcast<Width>(total), count.above);
  const auto from = hn::Sub(broadcast<Width>(total), count.below);
  // The old pivot, if some row holds it, becomes the neighbour behind; nothing is known ahead.
  const auto is_held = hn::RebindMask(d, hn::Gt(through, count.below));
  const auto goes_up = hn::RebindMask(d, moves.up), goes_down = hn::RebindMask(d, down);
  count.lower = hn::IfThenElse(hn::And(goes_up, is_held), count.pivot, count.lower);
  count.upper = hn::IfThenElse(hn::And(goes_down, is_held), count.pivot, count.upper);
  count.lower = hn::IfThenElse(goes_down, neighbour, count.lower);
  count.upper = hn::IfThenElse(goes_up, neighbour, count.upper);
  count.below = hn::IfThenElse(moves.up, through, count.below);
  count.above = hn::IfThenElse(moves.up, hn::Sub(count.above, weight), count.above);
  count.above = hn::IfThenElse(down, from, count.above);
  count.below = hn::IfThenElse(down, hn::Sub(count.below, weight), count.below);
  count.pivot = hn::IfThenElse(hn::RebindMask(d, moves.any), neighbour, count.pivot);
  return count;
}

// Finds in each lane's column the smallest value v with weight(rows <= v) >= target, starting at
// `pivot`. Ends with v as the pivot of the count it returns. Requires: 1 <= target <= total.
// Cost: one count and a half for each step the slowest lane needs; at most kNeighbourSteps + one
// per bit of a value.
template <typename Width>
HWY_INLINE Found<Width> search(const Columns<Width>& columns, Values<Width> pivot,
                               std::int64_t total, std::int64_t target) {
  const typename Width::D d;
  const auto largest = hn::Set(d, std::numeric_limits<typename Width::Value>::max());
  Bracket<Width> bracket{key_of<Width>(hn::Neg(largest)), key_of<Width>(largest)};
  for (int step = 0;; ++step) {
    const Count<Width> count = count_around(columns, pivot);
    const Moves<Width> moves(count, total, target);
    if (moves.are_none()) return {count, true};
    const Count<Width> stepped = step_to_neighbour(columns, count, moves, total);
    const Moves<Width> left(stepped, total, target);
    if (left.are_none()) return {stepped, false};
    const auto down = hn::AndNot(moves.up, moves.any);
    bracket.low = hn::IfThenElse(moves.up, key_of<Width>(count.upper), bracket.low);
    bracket.high = hn::IfThenElse(down, key_of<Width>(count.lower), bracket.high);
    pivot = stepped.pivot;
    if (step >= kNeighbourSteps) {
      pivot = hn::IfThenElse(hn::RebindMask(d, left.any), bracket.middle(), pivot);
    }
  }
}

// The weighted median, given what a search for its lower end found: the mean with the upper
// neighbour where the rows up to the pivot weigh exactly half. Counts again if that neighbour is
// not known.
template <typename Width>
HWY_INLINE Values<Width> median_from(const Columns<Width>& columns, Found<Width>& found,
                                     std::int64_t total) {
  const typename Width::D d;
  Count<Width>& count = found.count;
  const auto is_tie = hn::Eq(hn::Add(count.above, count.above), broadcast<Width>(total));
  if (total % 2 != 0 || hn::AllFalse(typename Width::DW(), is_tie)) {
    return hn::Add(count.pivot, hn::Zero(d));
  }
  if (!found.has_neighbours) found = {count_around(columns, count.pivot), true};
  const auto upper = hn::IfThenElse(hn::RebindMask(d, is_tie), count.upper, count.pivot);
  return midpoint<Width>(count.pivot, upper);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
