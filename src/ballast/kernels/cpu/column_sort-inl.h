// Weighted medians of many columns at once by sorting: values and weights go through a sorting
// network together, in registers, then the weights are added up in order. The cost does not depend
// on the values. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#endif

#include <utility>

#include "ballast/kernels/cpu/columns-inl.h"
#include "ballast/kernels/cpu/sorting_network.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

// Beyond this many rows the registers overflow by far, and a search (column_search-inl.h) is
// faster.
#ifndef BALLAST_SORT_ROWS_MAX
#define BALLAST_SORT_ROWS_MAX 32
#endif
constexpr std::size_t kSortRowsMax = BALLAST_SORT_ROWS_MAX;

template <typename Width>
struct Element {
  Sums<Width> key;
  Sums<Width> weight;
};

template <typename Width>
HWY_INLINE void exchange(Element<Width>& low, Element<Width>& high) {
  const auto is_swapped = hn::Gt(low.key, high.key);
  const auto key = hn::Min(low.key, high.key);
  high.key = hn::Max(low.key, high.key);
  low.key = key;
  const auto weight = hn::IfThenElse(is_swapped, high.weight, low.weight);
  high.weight = hn::IfThenElse(is_swapped, low.weight, high.weight);
  low.weight = weight;
}

template <typename Width, std::size_t kRows, std::size_t... kSteps>
HWY_INLINE void sort_registers(Element<Width>* elements, std::index_sequence<kSteps...>) {
  constexpr auto kNetwork = make_network<kRows>();
  (exchange<Width>(elements[kNetwork[kSteps].low], elements[kNetwork[kSteps].high]), ...);
}

// The smallest key at which the cumulative weight reaches the target.
template <typename Width, std::size_t kRows>
HWY_INLINE Values<Width> where_weight_reaches(const Element<Width>* sorted, std::int64_t target) {
  const typename Width::DW dw;
  const auto goal = broadcast<Width>(target);
  auto cumulative = hn::Zero(dw);
  auto found = hn::Set(dw, std::numeric_limits<typename Width::Weight>::max());
  for (std::size_t rank = 0; rank < kRows; ++rank) {
    cumulative = hn::Add(cumulative, sorted[rank].weight);
    const auto is_short = hn::Lt(cumulative, goal);
    found = hn::IfThenElse(is_short, found, hn::Min(found, sorted[rank].key));
  }
  return value_of<Width>(found);
}

// Requires: columns.count is kRows or kRows - 1; in the latter case an element of no weight above
// all others fills the last place.
template <typename Width, std::size_t kRows>
Values<Width> median_by_sorting(const Columns<Width>& columns, std::int64_t total) {
  const typename Width::DW dw;
  Element<Width> elements[kRows];
  for (std::size_t i = 0; i + 1 < kRows; ++i) {
    elements[i] = {key_of<Width>(columns.value(i)), columns.weight(i)};
  }
  elements[kRows - 1] = {hn::Set(dw, std::numeric_limits<typename Width::Weight>::max()),
                         hn::Zero(dw)};
  if (columns.count == kRows) {
    elements[kRows - 1] = {key_of<Width>(columns.value(kRows - 1)), columns.weight(kRows - 1)};
  }
  sort_registers<Width, kRows>(elements, std::make_index_sequence<exchange_count(kRows)>());
  const auto lower = where_weight_reaches<Width, kRows>(elements, (total + 1) / 2);
  if (total % 2 != 0) return hn::Add(lower, hn::Zero(typename Width::D()));
  return midpoint<Width>(lower, where_weight_reaches<Width, kRows>(elements, total / 2 + 1));
}

template <typename Width>
using MedianBySorting = Values<Width> (*)(const Columns<Width>&, std::int64_t);

template <typename Width, std::size_t... kPairs>
HWY_INLINE MedianBySorting<Width> choose_sort(std::size_t rows, std::index_sequence<kPairs...>) {
  static constexpr MedianBySorting<Width> kSorts[] = {median_by_sorting<Width, 2 * kPairs + 2>...};
  return kSorts[(rows - 1) / 2];
}

// The median of up to kSortRowsMax rows.
template <typename Width>
HWY_INLINE MedianBySorting<Width> sorting_median_for(std::size_t rows) {
  return choose_sort<Width>(rows, std::make_index_sequence<kSortRowsMax / 2>());
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
