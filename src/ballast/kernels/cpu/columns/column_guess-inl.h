// A first pivot for a search with nothing known: the quantile of a few rows, then a few steps of
// the false-position method on the share of the weight up to the pivot, which costs a third of a
// full count. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_GUESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_GUESS_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_GUESS_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_GUESS_INL_H_
#endif

#include <utility>

#include "ballast/kernels/cpu/columns/columns-inl.h"
#include "ballast/kernels/cpu/sorting_network.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

constexpr std::size_t kSample = 12;  // rows looked at, spread over the table
constexpr int kStepsMax = 10;
// More rows are worth more steps: each takes less than a step from neighbour to neighbour, and
// those there are in proportion to the rows.
HWY_INLINE int guess_steps(std::size_t rows) {
  int steps = 4;
  for (std::size_t covered = 64; covered < rows && steps < kStepsMax; covered *= 2) steps += 2;
  return steps;
}

template <typename Width, std::size_t... kSteps>
HWY_INLINE void sort_sample(Values<Width>* sample, std::index_sequence<kSteps...>) {
  constexpr auto kNetwork = make_network<kSample>();
  const auto swap = [sample](std::size_t low, std::size_t high) HWY_ATTR {
    const auto smaller = hn::Min(sample[low], sample[high]);
    sample[high] = hn::Max(sample[low], sample[high]);
    sample[low] = smaller;
  };
  (swap(kNetwork[kSteps].low, kNetwork[kSteps].high), ...);
}

// The weight up to the pivot, as a share of the total.
template <typename Width>
HWY_INLINE Values<Width> share_through(const Columns<Width>& columns, Values<Width> pivot,
                                       std::int64_t total) {
  auto through = broadcast<Width>(0), odd = through;
  const auto add_row = [&](std::size_t row, Sums<Width>& sum) HWY_ATTR {
    sum = add_where<Width>(hn::Le(columns.value(row), pivot), sum, columns.weight(row));
  };
  std::size_t i = 0;
  for (; i + 2 <= columns.count; i += 2) {
    add_row(i, through);
    add_row(i + 1, odd);
  }
  if (i < columns.count) add_row(i, through);
  through = hn::Add(through, odd);
  const typename Width::D d;
  using Value = typename Width::Value;
  return hn::Mul(hn::ConvertTo(d, through), hn::Set(d, Value(1) / static_cast<Value>(total)));
}

// Any finite value is a valid pivot, so this need not be right, only cheap and usually near.
template <typename Width>
HWY_INLINE Values<Width> guess_quantile(const Columns<Width>& columns, std::int64_t total,
                                        std::int64_t target) {
  using Value = typename Width::Value;
  const typename Width::D d;
  Values<Width> sample[kSample];
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = columns.value(i * columns.count / kSample);
  sort_sample<Width>(sample, std::make_index_sequence<exchange_count(kSample)>());
  const auto goal = hn::Set(d, static_cast<Value>(target) / static_cast<Value>(total));
  auto pivot = sample[kSample / 2];
  auto share = share_through(columns, pivot, total);
  // Until there is a pivot on either side, the quartiles of the sample say how far to go.
  const auto slope = hn::Mul(hn::Sub(sample[kSample - 1 - kSample / 4], sample[kSample / 4]),
                             hn::Set(d, Value(2)));
  // An end that stays twice counts half (the Illinois rule), or it would stay for good.
  auto low = hn::Set(d, -std::numeric_limits<Value>::infinity()), low_gap = goal;
  auto high = hn::Neg(low), high_gap = hn::Sub(hn::Set(d, Value(1)), goal);
  const auto half = hn::Set(d, Value(0.5));
  auto was_low = hn::MaskFromVec(hn::Zero(d)), was_high = was_low;
  const int steps = guess_steps(columns.count);
  for (int step = 0; step < steps; ++step) {
    const auto is_low = hn::Lt(share, goal), is_high = hn::Not(is_low);
    low = hn::IfThenElse(is_low, pivot, low);
    high = hn::IfThenElse(is_low, high, pivot);
    low_gap = hn::IfThenElse(is_low, hn::Sub(goal, share), low_gap);
    high_gap = hn::IfThenElse(is_low, high_gap, hn::Sub(share, goal));
    low_gap = hn::IfThenElse(hn::And(is_high, was_high), hn::Mul(low_gap, half), low_gap);
    high_gap = hn::IfThenElse(hn::And(is_low, was_low), hn::Mul(high_gap, half), high_gap);
    was_low = is_low;
    was_high = is_high;
    const auto ratio = hn::Div(low_gap, hn::Add(low_gap, high_gap));
    const auto between = hn::MulAdd(hn::Sub(high, low), ratio, low);
    const auto is_between = hn::And(hn::Gt(between, low), hn::Lt(between, high));
    const auto beyond = hn::MulAdd(slope, hn::Sub(goal, share), pivot);
    pivot = hn::IfThenElse(is_between, between, beyond);
    share = share_through(columns, pivot, total);
  }
  // Overflow on hostile values leaves no number or an infinity: start from a row then.
  const auto is_finite = hn::Lt(hn::Abs(pivot), hn::Set(d, std::numeric_limits<Value>::max()));
  return hn::IfThenElse(is_finite, pivot, columns.value(0));
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
