// Weighted quantiles of many columns at once by search: count the weight on either side of a pivot
// and move the pivot until it is the wanted value. A pivot close to the answer, such as the median
// before one row changed, needs one to three counts. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_SEARCH_INL_H_
#endif

#include "ballast/kernels/cpu/columns/column_guess-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// What one count tells about each lane's column: the weights strictly below and strictly above the
// pivot, and the nearest values there (infinite where there are none).
template <typename Width>
struct Count {
  Values<Width> pivot, lower, upper;
  Sums<Width> below, above;
};

// Adds one row to the count.
template <typename Width>
HWY_INLINE void count_row(const Columns<Width>& columns, std::size_t row, Count<Width>& count) {
  const auto value = columns.value(row);
  const auto weight = columns.weight(row);
  const auto is_below = hn::Lt(value, count.pivot), is_above = hn::Gt(value, count.pivot);
  count.below = add_where<Width>(is_below, count.below, weight);
  count.above = add_where<Width>(is_above, count.above, weight);
  count.lower = hn::IfThenElse(is_below, hn::Max(count.lower, value), count.lower);
  count.upper = hn::IfThenElse(is_above, hn::Min(count.upper, value), count.upper);
}

// Every other row goes to a count of its own, so that one does not wait for the other.
template <typename Width>
HWY_INLINE Count<Width> count_around(const Columns<Width>& columns, Values<Width> pivot) {
  const typename Width::D d;
  const auto infinity = hn::Set(d, std::numeric_limits<typename Width::Value>::infinity());
  Count<Width> even{pivot, hn::Neg(infinity), infinity, broadcast<Width>(0), broadcast<Width>(0)};
  Count<Width> odd = even;
  std::size_t i = 0;
  for (; i + 2 <= columns.count; i += 2) {
    count_row(columns, i, even);
    count_row(columns, i + 1, odd);
  }
  if (i < columns.count) count_row(columns, i, even);
  return {pivot, hn::Max(even.lower, odd.lower), hn::Min(even.upper, odd.upper),
          hn::Add(even.below, odd.below), hn::Add(even.above, odd.above)};
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
  Sums<Width> even = broadcast<Width>(0), odd = even;
  const auto add_row = [&](std::size_t row, Sums<Width>& sum) HWY_ATTR {
    sum = add_where<Width>(hn::Eq(columns.value(row), value), sum, columns.weight(row));
  };
  std::size_t i = 0;
  for (; i + 2 <= columns.count; i += 2) {
    add_row(i, even);
    add_row(i + 1, odd);
  }
  if (i < columns.count) add_row(i, even);
  return hn::Add(even, odd);
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

  HWY_INLINE Moves(Sums<Width> below, Sums<Width> above, std::int64_t total, std::int64_t target) {
    up = hn::Gt(above, broadcast<Width>(total - target));
    any = hn::Or(up, hn::Not(hn::Lt(below, broadcast<Width>(target))));
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

// Finds the next value ahead of the pivot, on the way of each lane that moves, in one pass: where
// the way goes down, values of the opposite sign go up.
template <typename Width>
HWY_INLINE void look_ahead(const Columns<Width>& columns, const Moves<Width>& moves,
                           Count<Width>& count) {
  const typename Width::D d;
  const auto up = hn::RebindMask(d, moves.up);
  const auto flip = hn::IfThenZeroElse(up, hn::SignBit(d));
  const auto pivot = hn::Xor(count.pivot, flip);
  auto nearest = hn::Set(d, std::numeric_limits<typename Width::Value>::infinity());
  auto odd = nearest;
  const auto look_at = [&](std::size_t row, Values<Width>& best) HWY_ATTR {
    const auto value = hn::Xor(columns.value(row), flip);
    best = hn::IfThenElse(hn::Gt(value, pivot), hn::Min(best, value), best);
  };
  std::size_t i = 0;
  for (; i + 2 <= columns.count; i += 2) {
    look_at(i, nearest);
    look_at(i + 1, odd);
  }
  if (i < columns.count) look_at(i, nearest);
  nearest = hn::Xor(hn::Min(nearest, odd), flip);
  count.upper = hn::IfThenElse(up, nearest, count.upper);
  count.lower = hn::IfThenElse(up, count.lower, nearest);
}

// The end of a search that neighbours do not end: halves what is left, whatever the values are.
template <typename Width>
Found<Width> bisect(const Columns<Width>& columns, Values<Width> pivot, std::int64_t total,
                    std::int64_t target) {
  const typename Width::D d;
  const auto largest = hn::Set(d, std::numeric_limits<typename Width::Value>::max());
  Bracket<Width> bracket{key_of<Width>(hn::Neg(largest)), key_of<Width>(largest)};
  while (true) {
    const Count<Width> count = count_around(columns, pivot);
    const Moves<Width> moves(count.below, count.above, total, target);
    if (moves.are_none()) return {count, true};
    const auto down = hn::AndNot(moves.up, moves.any);
    bracket.low = hn::IfThenElse(moves.up, key_of<Width>(count.upper), bracket.low);
    bracket.high = hn::IfThenElse(down, key_of<Width>(count.lower), bracket.high);
    pivot = hn::IfThenElse(hn::RebindMask(d, moves.any), bracket.middle(), pivot);
  }
}

// Goes from neighbour to neighbour, of which those on the way are known.
template <typename Width>
HWY_INLINE Found<Width> walk(const Columns<Width>& columns, Count<Width> count, Moves<Width> moves,
                             std::int64_t total, std::int64_t target) {
  for (int step = 0; step < kNeighbourSteps; ++step) {
    count = step_to_neighbour(columns, count, moves, total);
    moves = Moves<Width>(count.below, count.above, total, target);
    if (moves.are_none()) return {count, false};
    look_ahead(columns, moves, count);
  }
  return bisect(columns, count.pivot, total, target);
}

// Finds in each lane's column the smallest value v with weight(rows <= v) >= target, given the
// count around a pivot to start from. Ends with v as the pivot of the count it returns. Requires:
// 1 <= target <= total.
// Cost: about one more count for each step the slowest lane needs; at most kNeighbourSteps + one
// per bit of a value.
template <typename Width>
HWY_INLINE Found<Width> search(const Columns<Width>& columns, const Count<Width>& count,
                               std::int64_t total, std::int64_t target) {
  const Moves<Width> moves(count.below, count.above, total, target);
  if (moves.are_none()) return {count, true};
  return walk(columns, count, moves, total, target);
}

// The same from a cut, which lies above the values up to its pivot: seen from a value just above it
// they are below, and those that follow have nothing between them and the pivot.
template <typename Width>
HWY_INLINE Found<Width> search(const Columns<Width>& columns, const Cut<Width>& cut,
                               std::int64_t total, std::int64_t target) {
  const typename Width::D d;
  const auto above = hn::Sub(broadcast<Width>(total), cut.through);
  const Moves<Width> moves(cut.through, above, total, target);
  const auto key = key_of<Width>(hn::Add(cut.pivot, hn::Zero(d)));
  const auto just_above = value_of<Width>(hn::Add(key, broadcast<Width>(1)));
  const auto pivot = hn::IfThenElse(hn::RebindMask(d, moves.up), cut.pivot, just_above);
  Count<Width> count{pivot, pivot, pivot, cut.through, above};
  look_ahead(columns, moves, count);
  return walk(columns, count, moves, total, target);
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
