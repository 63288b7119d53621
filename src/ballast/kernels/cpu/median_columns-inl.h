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
      store_state(state_from(found.count, median, job.total), width, arrays);
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
