// What is remembered of a vector of columns, and the search that fills it. Included once per
// instruction set.

#if defined(BALLAST_KERNELS_CPU_MEDIAN_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_MEDIAN_COLUMNS_INL_H_
#undef BALLAST_KERNELS_CPU_MEDIAN_COLUMNS_INL_H_
#else
#define BALLAST_KERNELS_CPU_MEDIAN_COLUMNS_INL_H_
#endif

#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/median_arrays.h"

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
  Sums<Narrow> below, at;
  Values<Narrow> lower, upper;
};

template <bool kIsPacked>
HWY_INLINE ColumnState load_state(const MedianArrays& arrays, std::size_t position) {
  const Narrow::D d;
  const Narrow::DW dw;
  const auto high_half = hn::Set(dw, static_cast<std::int32_t>(0xFFFF0000));
  const auto weights = load_words(arrays.weights + position);
  const auto intervals = load_words(arrays.intervals + position);
  ColumnState state;
  state.lower = hn::BitCast(d, hn::ShiftLeft<16>(intervals));
  state.upper = hn::BitCast(d, hn::And(intervals, high_half));
  if constexpr (kIsPacked) {
    const hn::RebindToUnsigned<Narrow::DW> du;
    state.below = hn::And(weights, hn::Set(dw, 0xFFFF));
    state.at = hn::BitCast(dw, hn::ShiftRight<16>(hn::BitCast(du, weights)));
  } else {
    state.below = weights;
    state.at = load_words(arrays.at_weights + position);
  }
  return state;
}

// The ends of the intervals in the form in which they are kept. Negative values grow by truncation,
// positive ones by adding what is cut off first.
HWY_INLINE Sums<Narrow> intervals_of(const ColumnState& state) {
  const Narrow::DW dw;
  const hn::RebindToUnsigned<Narrow::DW> du;
  const auto low_half = hn::Set(dw, 0xFFFF);
  const auto lower = hn::BitCast(dw, state.lower), upper = hn::BitCast(dw, state.upper);
  const auto up = hn::AndNot(hn::ShiftRight<31>(lower), low_half);
  const auto down = hn::And(hn::ShiftRight<31>(upper), low_half);
  const auto lower_bits = hn::ShiftRight<16>(hn::BitCast(du, hn::Add(lower, up)));
  return hn::Or(hn::BitCast(dw, lower_bits), hn::AndNot(low_half, hn::Add(upper, down)));
}

// The weights of packed states in the form in which they are kept.
HWY_INLINE Sums<Narrow> packed_weights(const ColumnState& state) {
  return hn::Or(state.below, hn::ShiftLeft<16>(state.at));
}

// Stores a whole vector.
template <bool kIsPacked>
HWY_INLINE void store_state(const ColumnState& state, const MedianArrays& arrays,
                            std::size_t position) {
  const std::size_t lanes = hn::Lanes(Narrow::DW());
  store_words(intervals_of(state), lanes, arrays.intervals + position);
  if constexpr (kIsPacked) {
    store_words(packed_weights(state), lanes, arrays.weights + position);
  } else {
    store_words(state.below, lanes, arrays.weights + position);
    store_words(state.at, lanes, arrays.at_weights + position);
  }
}

// Stores the first `width` columns.
HWY_INLINE void store_state(const ColumnState& state, std::size_t width,
                            const MedianArrays& arrays) {
  store_words(intervals_of(state), width, arrays.intervals);
  store_words(arrays.is_packed() ? packed_weights(state) : state.below, width, arrays.weights);
  if (!arrays.is_packed()) store_words(state.at, width, arrays.at_weights);
}

// The state of columns in these lanes counts as unknown.
HWY_INLINE ColumnState unknown_where(hn::Mask<Narrow::DW> lanes, const ColumnState& state,
                                     const MedianArrays& arrays) {
  const Narrow::D d;
  const Narrow::DW dw;
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto unknown = hn::Set(dw, static_cast<std::int32_t>(arrays.unknown()));
  const auto values = hn::RebindMask(d, lanes);
  return {hn::IfThenElse(lanes, unknown, state.below), hn::IfThenZeroElse(lanes, state.at),
          hn::IfThenElse(values, infinity, state.lower),
          hn::IfThenElse(values, hn::Neg(infinity), state.upper)};
}

// What a count tells. Lanes whose median lies between two values count as unknown.
HWY_INLINE ColumnState state_from(const Count<Narrow>& count, Values<Narrow> median,
                                  std::int64_t total, const MedianArrays& arrays) {
  const auto is_other = hn::RebindMask(Narrow::DW(), hn::Ne(median, count.pivot));
  const auto is_tie = hn::Eq(hn::Add(count.above, count.above), broadcast<Narrow>(total));
  const auto at = hn::Sub(hn::Sub(broadcast<Narrow>(total), count.below), count.above);
  return unknown_where(hn::Or(is_tie, is_other), {count.below, at, count.lower, count.upper},
                       arrays);
}

// Searches from the count around the old median.
template <typename Width>
HWY_INLINE void refine_from(const ColumnJob& job, const Columns<Width>& columns,
                            const Count<Width>& count, std::size_t width,
                            const MedianArrays& arrays) {
  auto found = search(columns, count, job.total, (job.total + 1) / 2);
  const auto median = median_from(columns, found, job.total);
  store_first<Width>(median, width, arrays.median);
  if constexpr (std::is_same_v<Width, Narrow>) {
    if (arrays.weights != nullptr) {
      store_state(state_from(found.count, median, job.total, arrays), width, arrays);
    }
  }
}

// Searches from the old median.
template <typename Width>
HWY_INLINE void refine_vector(const ColumnJob& job, const Columns<Width>& columns,
                              std::size_t width, const MedianArrays& arrays) {
  const auto old_median = load_first<Width>(arrays.median, width);
  refine_from(job, columns, count_around(columns, old_median), width, arrays);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
