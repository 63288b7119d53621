// Where to begin a search with nothing known: a value, near which the rows reach the target, and
// the weight up to it. Included once per instruction set.

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

// Vectors of columns that are guessed together: a weight is loaded once for all, and each waits for
// its own results only. Two of AVX-512 fill what columns_to_copy() leaves of many rows.
constexpr std::size_t kGuessed = HWY_TARGET <= HWY_AVX3 ? 2 : 4;

// Rows with values up to `pivot`, which any finite value may be, weigh `through`.
template <typename Width>
struct Cut {
  Values<Width> pivot;
  Sums<Width> through;
};

constexpr std::size_t kSample = 16;  // rows looked at, spread over the table

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

// The nearest cuts on either side of the target that were tried, infinite where none was, and the
// values of the sample to try first.
template <typename Width>
struct CutBracket {
  Cut<Width> low, high;
  Values<Width> sample_low, sample_high;

  HWY_INLINE void take(const Cut<Width>& cut, std::int64_t target) {
    const auto is_low = hn::Lt(cut.through, broadcast<Width>(target));
    const auto has_low_pivot = hn::RebindMask(typename Width::D(), is_low);
    low.pivot = hn::IfThenElse(has_low_pivot, cut.pivot, low.pivot);
    low.through = hn::IfThenElse(is_low, cut.through, low.through);
    high.pivot = hn::IfThenElse(has_low_pivot, high.pivot, cut.pivot);
    high.through = hn::IfThenElse(is_low, high.through, cut.through);
  }

  // Whichever is nearer by weight. Requires: one of them was tried.
  HWY_INLINE Cut<Width> nearer(std::int64_t target) const {
    const typename Width::D d;
    const auto goal = broadcast<Width>(target);
    const auto infinity = hn::Set(d, std::numeric_limits<typename Width::Value>::infinity());
    const auto is_nearer = hn::Lt(hn::Sub(goal, low.through), hn::Sub(high.through, goal));
    const auto has_low = hn::Gt(low.pivot, hn::Neg(infinity));
    const auto is_low =
        hn::Or(hn::And(hn::RebindMask(d, is_nearer), has_low), hn::Eq(high.pivot, infinity));
    return {
        hn::IfThenElse(is_low, low.pivot, high.pivot),
        hn::IfThenElse(hn::RebindMask(typename Width::DW(), is_low), low.through, high.through)};
  }
};

// The sample's quantile has an error of two rows of the sample.
constexpr std::size_t kSampleError = 3;

template <typename Width>
HWY_INLINE CutBracket<Width> bracket_by_sample(const Columns<Width>& columns, std::size_t at,
                                               std::int64_t total, std::int64_t target) {
  const typename Width::D d;
  Values<Width> sample[kSample];
  for (std::size_t i = 0; i < kSample; ++i) {
    sample[i] = Width::load(columns.rows[i * columns.count / kSample] + columns.offset + at);
  }
  sort_sample<Width>(sample, std::make_index_sequence<exchange_count(kSample)>());
  const double share = static_cast<double>(target) / static_cast<double>(total);
  const auto middle = static_cast<std::size_t>(share * static_cast<double>(kSample));
  const std::size_t low = middle < kSampleError + 1 ? 0 : middle - kSampleError - 1;
  const std::size_t high = std::min(middle + kSampleError, kSample - 1);
  const auto infinity = hn::Set(d, std::numeric_limits<typename Width::Value>::infinity());
  return {{hn::Neg(infinity), broadcast<Width>(0)},
          {infinity, broadcast<Width>(total)},
          sample[low],
          sample[high]};
}

template <typename Width>
HWY_INLINE auto is_finite(Values<Width> value) {
  const auto largest = std::numeric_limits<typename Width::Value>::max();
  return hn::Le(hn::Abs(value), hn::Set(typename Width::D(), largest));
}

// How far a pivot goes beyond where the target is expected: by this share of the root of the number
// of rows to the nearer cut, which counts as this many at least.
struct Beyond {
  double nearest_min, share;
};
constexpr Beyond kToBeNear{0.25, 0.5};  // for a cut close to the target
constexpr Beyond kToEnclose{4.0, 1.0};  // for two cuts on either side

// Where the target would be reached if the weight grew evenly between the cuts, and as much beyond
// it, seen from the nearer cut, as this is likely to be wrong, so that the farther one comes closer
// too. A row weighs about row_weight.
template <typename Width>
HWY_INLINE Values<Width> pivot_between(const CutBracket<Width>& bracket, double row_weight,
                                       std::int64_t target, const Beyond& beyond_by) {
  using Value = typename Width::Value;
  const typename Width::D d;
  const auto goal = broadcast<Width>(target);
  const auto to_low = hn::ConvertTo(d, hn::Sub(goal, bracket.low.through));
  const auto to_high = hn::ConvertTo(d, hn::Sub(bracket.high.through, goal));
  const auto row = hn::Set(d, static_cast<Value>(row_weight));
  const auto nearest =
      hn::Max(hn::Min(to_low, to_high), hn::Mul(row, hn::Set(d, Value(beyond_by.nearest_min))));
  const auto error = hn::Mul(hn::Sqrt(hn::Mul(nearest, row)), hn::Set(d, Value(beyond_by.share)));
  const auto beyond = hn::IfThenElse(hn::Lt(to_low, to_high), error, hn::Neg(error));
  const auto ratio = hn::Div(hn::Add(to_low, beyond), hn::Add(to_low, to_high));
  const auto inside = hn::Min(hn::Max(ratio, hn::Set(d, Value(0.02))), hn::Set(d, Value(0.98)));
  const auto low = bracket.low.pivot;
  return hn::MulAdd(hn::Sub(bracket.high.pivot, low), inside, low);
}

// Where to cut next. Without a cut on one side, as far outward as the sample is wide; where
// differences of values overflow, half way; and else at any row.
template <typename Width>
HWY_INLINE Values<Width> next_pivot(const CutBracket<Width>& bracket, double row_weight,
                                    std::int64_t target, const Beyond& beyond_by,
                                    Values<Width> any) {
  const typename Width::D d;
  const auto low = bracket.low.pivot, high = bracket.high.pivot;
  const auto between = pivot_between(bracket, row_weight, target, beyond_by);
  const auto width = hn::Sub(bracket.sample_high, bracket.sample_low);
  const auto half = hn::Set(d, typename Width::Value(0.5));
  auto other = hn::MulAdd(low, half, hn::Mul(high, half));
  other = hn::IfThenElse(is_finite<Width>(low), other, hn::Sub(high, width));
  other = hn::IfThenElse(is_finite<Width>(high), other, hn::Add(low, width));
  other = hn::IfThenElse(is_finite<Width>(other), other, any);
  return hn::IfThenElse(is_finite<Width>(between), between, other);
}

// Counts the weight up to each pivot. Meanwhile asks for a line of each row that lies ahead, if
// any.
template <bool kIsAsking = false, typename Width>
HWY_INLINE void count_through(const Columns<Width>& columns, Cut<Width>* cuts,
                              [[maybe_unused]] const Ahead& ahead = {}) {
  const std::size_t lanes = hn::Lanes(typename Width::D());
  Sums<Width> sums[kGuessed];
  Values<Width> pivots[kGuessed];
  for (std::size_t v = 0; v < kGuessed; ++v) {
    sums[v] = broadcast<Width>(0);
    pivots[v] = cuts[v].pivot;
  }
  for (std::size_t i = 0; i < columns.count; ++i) {
    const float* row = columns.rows[i] + columns.offset;
    const auto weight = columns.weight(i);
    if constexpr (kIsAsking) __builtin_prefetch(ahead.rows[i] + ahead.offset, 0, 2);
    for (std::size_t v = 0; v < kGuessed; ++v) {
      const auto is_through = hn::Le(Width::load(row + v * lanes), pivots[v]);
      sums[v] = add_where<Width>(is_through, sums[v], weight);
    }
  }
  for (std::size_t v = 0; v < kGuessed; ++v) cuts[v].through = sums[v];
}

// How often a column is cut. Then, of 65 as of 1024 rows, about one lies between the nearer cut and
// the value sought.
constexpr int kTries = 8;

// Brackets of kGuessed vectors of columns with the same target, narrowed cut by cut.
template <typename Width>
struct Guess {
  CutBracket<Width> brackets[kGuessed];
  Beyond beyond;
  double row_weight;
  int tries = 0;

  HWY_INLINE Guess(const Columns<Width>& columns, std::int64_t total, std::int64_t target,
                   const Beyond& how_far)
      : beyond(how_far),
        row_weight(static_cast<double>(total) / static_cast<double>(columns.count)) {
    const std::size_t lanes = hn::Lanes(typename Width::D());
    for (std::size_t v = 0; v < kGuessed; ++v) {
      brackets[v] = bracket_by_sample(columns, v * lanes, total, target);
    }
  }

  template <bool kIsAsking = false>
  HWY_INLINE void cut(const Columns<Width>& columns, std::int64_t target, const Ahead& ahead = {}) {
    const std::size_t lanes = hn::Lanes(typename Width::D());
    const float* first_row = columns.rows[0] + columns.offset;
    Cut<Width> cuts[kGuessed];
    for (std::size_t v = 0; v < kGuessed; ++v) {
      const auto any = Width::load(first_row + v * lanes);
      cuts[v].pivot = tries == 0   ? brackets[v].sample_low
                      : tries == 1 ? brackets[v].sample_high
                                   : next_pivot(brackets[v], row_weight, target, beyond, any);
    }
    count_through<kIsAsking>(columns, cuts, ahead);
    for (std::size_t v = 0; v < kGuessed; ++v) brackets[v].take(cuts[v], target);
    ++tries;
  }

  // Whether between the cuts of every column there lies no more than this.
  HWY_INLINE bool is_within(std::int64_t weight) const {
    const typename Width::DW dw;
    auto widest = hn::Sub(brackets[0].high.through, brackets[0].low.through);
    for (std::size_t v = 1; v < kGuessed; ++v) {
      widest = hn::Max(widest, hn::Sub(brackets[v].high.through, brackets[v].low.through));
    }
    return hn::AllFalse(dw, hn::Gt(widest, broadcast<Width>(weight)));
  }
};

// Finds a cut near the target in each of kGuessed vectors of columns. It need not be right, only
// cheap and usually near: any finite value will do.
template <typename Width>
HWY_INLINE void guess_cuts(const Columns<Width>& columns, std::int64_t total, std::int64_t target,
                           Cut<Width>* cuts) {
  Guess<Width> guess(columns, total, target, kToBeNear);
  while (guess.tries < kTries) guess.cut(columns, target);
  for (std::size_t v = 0; v < kGuessed; ++v) cuts[v] = guess.brackets[v].nearer(target);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
