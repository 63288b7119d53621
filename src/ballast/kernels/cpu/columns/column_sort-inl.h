// Weighted medians of many columns at once by sorting. What is sorted are tags: the upper 27 bits
// of a value's key with the number of its row in place of the others. So a compare-exchange is one
// minimum and one maximum, and the weight at a rank is looked up by its row. Tags order the rows
// by value but for rows that differ in the last five bits alone. Where such a row stands beside the
// median, the column is searched (column_search-inl.h), from a value that is the answer or next to
// it. Included once per instruction set.

#if defined(BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#undef BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#else
#define BALLAST_KERNELS_CPU_COLUMN_SORT_INL_H_
#endif

#include <utility>

#include "ballast/kernels/cpu/columns/column_search-inl.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/sorting_network.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

using Tags = Sums<Narrow>;
using TagMask = hn::Mask<Narrow::DW>;
constexpr std::int32_t kRowMask = (1 << kRowBits) - 1;
constexpr std::size_t kLanes = hn::MaxLanes(Narrow::D());

// Some columns: the keys of the rows, and their tags in order. Those of rank r are ranks[r + 1],
// between two that no finite value has.
struct TaggedColumns {
  alignas(64) std::int32_t keys[kTaggedRowsMax][kCopiedColumns];
  alignas(64) std::int32_t ranks[kTaggedRowsMax + 2][kCopiedColumns];

  explicit TaggedColumns(std::size_t rows) {
    std::fill_n(ranks[0], kCopiedColumns, std::numeric_limits<std::int32_t>::min());
    std::fill_n(ranks[rows + 1], kCopiedColumns, std::numeric_limits<std::int32_t>::max());
  }
};

HWY_INLINE Tags without_row(Tags tags) { return hn::And(tags, hn::Set(Narrow::DW(), ~kRowMask)); }

HWY_INLINE void exchange(Tags& low, Tags& high) {
  const auto lower = hn::Min(low, high);
  high = hn::Max(low, high);
  low = lower;
}

template <std::size_t kRows, std::size_t... kSteps>
HWY_INLINE void sort_registers([[maybe_unused]] Tags* tags, std::index_sequence<kSteps...>) {
  [[maybe_unused]] constexpr auto kNetwork = make_register_network<kRows>();
  (exchange(tags[kNetwork[kSteps].low], tags[kNetwork[kSteps].high]), ...);
}

// How far ahead the next columns are asked for: the memory cannot follow so many rows by itself.
constexpr std::size_t kPrefetchAhead = HWY_TARGET <= HWY_AVX3 ? 2 * kCopiedColumns : kCopiedColumns;

// Sorts kCopiedColumns columns. Row numbers come from memory: the units that load are idle.
template <std::size_t kRows>
void sort_columns(Columns<Narrow> columns, const SortPlan& plan, TaggedColumns& sorted) {
  const Narrow::DW dw;
  for (std::size_t at = 0; at < kCopiedColumns; at += kLanes) {
    Tags tags[kRows];
    for (std::size_t i = 0; i < kRows; ++i) {
      if (at % 16 == 0) __builtin_prefetch(columns.rows[i] + columns.offset + kPrefetchAhead, 0, 2);
      const auto key = key_of<Narrow>(columns.value(i));
      hn::Store(key, dw, sorted.keys[i] + at);
      tags[i] = hn::OrAnd(hn::Set(dw, plan.row_numbers[i]), key, hn::Set(dw, ~kRowMask));
    }
    sort_registers<kRows>(tags, std::make_index_sequence<register_exchange_count(kRows)>());
    for (std::size_t i = 0; i < kRows; ++i) hn::Store(tags[i], dw, sorted.ranks[i + 1] + at);
    columns.offset += kLanes;
  }
}

using SortColumns = void (*)(Columns<Narrow>, const SortPlan&, TaggedColumns&);

template <std::size_t... kIndices>
HWY_INLINE SortColumns choose_sort(std::size_t rows, std::index_sequence<kIndices...>) {
  static constexpr SortColumns kSorts[] = {sort_columns<kIndices + 1>...};
  return kSorts[rows - 1];
}

// The weights of the rows that tags name, from tables in registers where these are wide: kTables of
// eight words each, as many as the rows need.
template <std::size_t kTables>
struct WeightTables {
#if HWY_TARGET <= HWY_AVX3  // looks up 32 words by the lowest five bits
  Tags first, second;

  HWY_INLINE explicit WeightTables(const SortPlan& plan)
      : first(hn::Load(Narrow::DW(), plan.weights.data())),
        second(hn::Load(Narrow::DW(), plan.weights.data() + 16)) {}
  HWY_INLINE Tags at(Tags tags) const {
    return Tags{_mm512_permutex2var_epi32(first.raw, tags.raw, second.raw)};
  }
#elif HWY_TARGET <= HWY_AVX2  // looks up eight words by the lowest three bits
  Tags eight[kTables];

  HWY_INLINE explicit WeightTables(const SortPlan& plan) {
    for (std::size_t i = 0; i < kTables; ++i) {
      eight[i] = hn::Load(Narrow::DW(), plan.weights.data() + 8 * i);
    }
  }
  HWY_INLINE Tags at(Tags tags) const {
    const auto from = [&](std::size_t table) HWY_ATTR {
      return Tags{_mm256_permutevar8x32_epi32(eight[table].raw, tags.raw)};
    };
    if constexpr (kTables == 1) return from(0);
    const auto bit_3 = hn::ShiftLeft<28>(tags), bit_4 = hn::ShiftLeft<27>(tags);
    const auto low = hn::IfNegativeThenElse(bit_3, from(kTables > 1 ? 1 : 0), from(0));
    if constexpr (kTables <= 2) return low;
    auto high = from(kTables > 2 ? 2 : 0);
    if constexpr (kTables > 3) high = hn::IfNegativeThenElse(bit_3, from(3), high);
    return hn::IfNegativeThenElse(bit_4, high, low);
  }
#else
  const std::int32_t* weights;

  HWY_INLINE explicit WeightTables(const SortPlan& plan) : weights(plan.weights.data()) {}
  HWY_INLINE Tags at(Tags tags) const {
    return hn::GatherIndex(Narrow::DW(), weights, hn::And(tags, hn::Set(Narrow::DW(), kRowMask)));
  }
#endif
};

// Vectors that are worked on together: each waits for its own sums only.
constexpr std::size_t kTogether = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// Where the weight in order reaches a target: the tags there, and whether they differ from those on
// either side by more than the row; and whether anywhere the weight is the target exactly.
struct Ranks {
  Tags tags[kTogether];
  TagMask are_alone[kTogether];
  bool is_any_exact;
};

template <std::size_t kTables>
HWY_INLINE Ranks find_ranks(const TaggedColumns& sorted, std::size_t at, const SortPlan& plan,
                            const WeightTables<kTables>& tables, std::int32_t target) {
  const Narrow::DW dw;
  const auto tags_at = [&](std::size_t rank_and_one, std::size_t v) HWY_ATTR {
    return hn::Load(dw, sorted.ranks[rank_and_one] + at + v * kLanes);
  };
  const auto goal = hn::Set(dw, target);
  Tags weights[kTogether], before[kTogether], after[kTogether];
  auto is_exact = hn::MaskFromVec(hn::Zero(dw));
  Ranks found;
  for (Tags& weight : weights) weight = hn::Zero(dw);
  for (std::size_t rank = 0; rank < plan.first_rank; ++rank) {
    for (std::size_t v = 0; v < kTogether; ++v) {
      weights[v] = hn::Add(weights[v], tables.at(tags_at(rank + 1, v)));
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    before[v] = tags_at(plan.first_rank, v);
    found.tags[v] = tags_at(plan.first_rank + 1, v);
    after[v] = tags_at(plan.first_rank + 2, v);
  }
  for (std::size_t rank = plan.first_rank + 1; rank <= plan.last_rank; ++rank) {
    for (std::size_t v = 0; v < kTogether; ++v) {
      weights[v] = hn::Add(weights[v], tables.at(tags_at(rank, v)));
      const auto is_short = hn::Lt(weights[v], goal);
      is_exact = hn::Or(is_exact, hn::Eq(weights[v], goal));
      before[v] = hn::IfThenElse(is_short, tags_at(rank, v), before[v]);
      found.tags[v] = hn::IfThenElse(is_short, tags_at(rank + 1, v), found.tags[v]);
      after[v] = hn::IfThenElse(is_short, tags_at(rank + 2, v), after[v]);
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    const auto tags = without_row(found.tags[v]);
    found.are_alone[v] =
        hn::And(hn::Ne(tags, without_row(before[v])), hn::Ne(tags, without_row(after[v])));
  }
  found.is_any_exact = !hn::AllFalse(dw, is_exact);
  return found;
}

// The values of the rows that tags name, where they are alone: of the keys at or above a tag
// without its row, theirs are the nearest. Those below wrap around to the far end.
HWY_INLINE void load_values(const TaggedColumns& sorted, std::size_t rows, std::size_t at,
                            const Tags* tags, Values<Narrow>* values) {
  const Narrow::DW dw;
  const hn::RebindToUnsigned<Narrow::DW> du;
  Tags bases[kTogether];
  hn::Vec<decltype(du)> nearest[kTogether];
  for (std::size_t v = 0; v < kTogether; ++v) {
    bases[v] = without_row(tags[v]);
    nearest[v] = hn::Set(du, ~0u);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t v = 0; v < kTogether; ++v) {
      const auto key = hn::Load(dw, sorted.keys[i] + at + v * kLanes);
      nearest[v] = hn::Min(nearest[v], hn::BitCast(du, hn::Sub(key, bases[v])));
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    values[v] = value_of<Narrow>(hn::Add(bases[v], hn::BitCast(dw, nearest[v])));
  }
}

// The median, by search from a value near it.
inline HWY_NOINLINE Values<Narrow> median_near(const Columns<Narrow>& columns, Values<Narrow> value,
                                               std::int64_t total) {
  auto found = search(columns, count_around(columns, value), total, (total + 1) / 2);
  return median_from(columns, found, total);
}

// The medians of kTogether vectors of columns that lie at `at` among the sorted ones. Only where
// the weight in order is half of an even total exactly are there two middle rows.
template <std::size_t kTables>
HWY_INLINE void store_medians(Columns<Narrow> columns, const SortPlan& plan,
                              const WeightTables<kTables>& tables, const TaggedColumns& sorted,
                              std::size_t at, float* HWY_RESTRICT out) {
  Ranks lower = find_ranks(sorted, at, plan, tables, plan.lower_target);
  Values<Narrow> values[kTogether], upper_values[kTogether];
  load_values(sorted, columns.count, at, lower.tags, values);
  std::copy_n(values, kTogether, upper_values);
  if (plan.lower_target != plan.upper_target && lower.is_any_exact) {
    const Ranks upper = find_ranks(sorted, at, plan, tables, plan.upper_target);
    load_values(sorted, columns.count, at, upper.tags, upper_values);
    for (std::size_t v = 0; v < kTogether; ++v) {
      lower.are_alone[v] = hn::And(lower.are_alone[v], upper.are_alone[v]);
    }
  }
  for (std::size_t v = 0; v < kTogether; ++v) {
    auto median = midpoint<Narrow>(values[v], upper_values[v]);
    if (!hn::AllTrue(Narrow::DW(), lower.are_alone[v])) {
      median = median_near(columns, values[v], plan.total());
    }
    Narrow::store(median, out + v * kLanes);
    columns.offset += kLanes;
  }
}

// Writes the medians of kCopiedColumns columns. What lies between stays in the first-level cache.
template <std::size_t kTables>
HWY_INLINE void sort_for_medians(Columns<Narrow> columns, const SortPlan& plan, SortColumns sort,
                                 TaggedColumns& sorted, float* HWY_RESTRICT out) {
  sort(columns, plan, sorted);
  const WeightTables<kTables> tables(plan);
  for (std::size_t at = 0; at < kCopiedColumns; at += kTogether * kLanes) {
    store_medians(columns, plan, tables, sorted, at, out + at);
    columns.offset += kTogether * kLanes;
  }
}

template <std::size_t kTables>
HWY_NOINLINE void medians_by_tables(const ColumnJob& job, std::size_t begin, std::size_t end,
                                    const ColumnScratch& scratch, float* HWY_RESTRICT out) {
  const std::size_t rows = job.rows.row_count();
  const SortPlan plan = make_sort_plan(job.narrow_weights, job.total);
  const SortColumns sort = choose_sort(rows, std::make_index_sequence<kSortRowsMax>());
  TaggedColumns sorted(rows);
  Columns<Narrow> columns = columns_of<Narrow>(job, begin);
  for (; columns.offset + kCopiedColumns <= end; columns.offset += kCopiedColumns) {
    sort_for_medians<kTables>(columns, plan, sort, sorted, out + columns.offset);
  }
  if (columns.offset == end) return;
  float last[kCopiedColumns];
  const std::size_t width = end - columns.offset;
  sort_for_medians<kTables>(copy_columns(columns, width, scratch), plan, sort, sorted, last);
  std::copy_n(last, width, out + columns.offset);
}

// The medians of the columns in [begin, end). Requires: narrow weights of at most kSortRowsMax
// rows.
inline void medians_by_sorting(const ColumnJob& job, std::size_t begin, std::size_t end,
                               const ColumnScratch& scratch, float* out) {
#if HWY_TARGET <= HWY_AVX2 && HWY_TARGET > HWY_AVX3
  const std::size_t rows = job.rows.row_count();
  if (rows <= 8) return medians_by_tables<1>(job, begin, end, scratch, out);
  if (rows <= 16) return medians_by_tables<2>(job, begin, end, scratch, out);
  if (rows <= 24) return medians_by_tables<3>(job, begin, end, scratch, out);
#endif
  medians_by_tables<4>(job, begin, end, scratch, out);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
