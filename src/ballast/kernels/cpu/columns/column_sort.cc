#include <utility>

#include "ballast/kernels/cpu/columns/column_job.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/cpu/sorting_network.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/columns/column_sort.cc"
#include <hwy/foreach_target.h>
//
#include "ballast/kernels/cpu/columns/column_tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {

HWY_INLINE void exchange(Tags& low, Tags& high) {
  const auto lower = hn::Min(low, high);
  high = hn::Max(low, high);
  low = lower;
}

// Some rows of a table, and the place for their sorted tags.
struct RowsToSort {
  const float* const* rows;
  const std::uint32_t* codes;
  std::uint32_t* sorted;
};

// How far ahead the next columns are asked for: the memory follows about twenty rows by itself, and
// of tables beyond the caches fewer, at the pace of AVX-512.
// A function that does nothing else has no effect that GCC knows of, so that it drops the calls; a
// statement that it cannot look into keeps them.
constexpr std::size_t kFollowedRows = 20;
constexpr std::size_t kFollowedFarRows = HWY_TARGET <= HWY_AVX3 ? 12 : 20;
constexpr std::size_t kPrefetchAhead = HWY_TARGET <= HWY_AVX3 ? 2 * kCopiedColumns : kCopiedColumns;

inline HWY_NOINLINE void prefetch(const float* const* rows, std::size_t count, std::size_t offset) {
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(rows[i] + offset, 0, 2);
  asm volatile("");
}

// Sorts kCopiedColumns columns. Everything is written out by the folds: a loop over the rows would
// keep the tags in memory. Codes come from there, since the units that load are idle.
template <bool kAsksAhead, std::size_t... kRows, std::size_t... kSteps>
HWY_INLINE void sort_rows(const RowsToSort& work, std::size_t offset, std::uint32_t code_mask,
                          std::index_sequence<kRows...>, std::index_sequence<kSteps...>) {
  const TagLanes du;
  [[maybe_unused]] constexpr auto kNetwork = make_register_network<sizeof...(kRows)>();
  for (std::size_t at = 0; at < kCopiedColumns; at += kLanes) {
    if (kAsksAhead && at % kLineFloats == 0) {
      prefetch(work.rows, sizeof...(kRows), offset + at + kPrefetchAhead);
    }
    Tags tags[] = {tags_of(Narrow::load(work.rows[kRows] + offset + at), hn::Set(du, code_mask),
                           hn::Set(du, work.codes[kRows]))...};
    (exchange(tags[kNetwork[kSteps].low], tags[kNetwork[kSteps].high]), ...);
    (hn::Store(tags[kRows], du, work.sorted + kRows * kCopiedColumns + at), ...);
  }
}

using SortRows = void (*)(const RowsToSort&, std::size_t, std::uint32_t);

template <std::size_t kCount, bool kAsksAhead>
void sort_so_many(const RowsToSort& work, std::size_t offset, std::uint32_t code_mask) {
  sort_rows<kAsksAhead>(work, offset, code_mask, std::make_index_sequence<kCount>(),
                        std::make_index_sequence<register_exchange_count(kCount)>());
}

// Whether so many rows are asked for ahead of time.
enum class Place { kNear, kFar, kHalf };  // a table's rows in cache or not, or half of many
constexpr bool asks_ahead(std::size_t rows, Place place) {
  if (place == Place::kHalf) return rows >= kRegisterRowsMax / 2;
  return rows > (place == Place::kFar ? kFollowedFarRows : kFollowedRows);
}

template <Place kPlace, std::size_t... kIndices>
HWY_INLINE SortRows choose_sort(std::size_t rows, std::index_sequence<kIndices...>) {
  static constexpr SortRows kSorts[] = {
      sort_so_many<kIndices + 1, asks_ahead(kIndices + 1, kPlace)>...};
  return kSorts[rows - 1];
}

// One vector of the columns: the tags of all ranks, at `at`.
struct RankColumn {
  std::uint32_t* ranks;  // of rank 0

  HWY_INLINE Tags load(std::size_t rank) const {
    return hn::Load(TagLanes(), ranks + rank * kCopiedColumns);
  }
  HWY_INLINE void store(Tags tags, std::size_t rank) const {
    hn::Store(tags, TagLanes(), ranks + rank * kCopiedColumns);
  }
};

constexpr std::size_t kHalf = TaggedColumns::kHalf;
constexpr std::size_t kSpan = kHalf / 4;

// The first stages of a bitonic merge of two sorted halves: what lies kHalf, kHalf / 2 and kSpan
// apart, the first of these mirrored. Eight ranks at a time have to do with each other only.
HWY_INLINE void merge_far(const RankColumn& column) {
  for (std::size_t first = 0; first < kSpan; ++first) {
    Tags low[4], high[4];
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = column.load(first + k * kSpan);
      high[3 - k] = column.load(2 * kHalf - 1 - first - k * kSpan);
      exchange(low[k], high[3 - k]);
    }
    for (Tags* half : {low, high}) {
      exchange(half[0], half[2]);
      exchange(half[1], half[3]);
      exchange(half[0], half[1]);
      exchange(half[2], half[3]);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      column.store(low[k], first + k * kSpan);
      column.store(high[3 - k], 2 * kHalf - 1 - first - k * kSpan);
    }
  }
}

// The last stages, which put kSpan neighbouring ranks in order.
HWY_INLINE void merge_near(const RankColumn& column, std::size_t first) {
  Tags tags[kSpan];
  for (std::size_t i = 0; i < kSpan; ++i) tags[i] = column.load(first + i);
  for (std::size_t d = kSpan / 2; d > 0; d /= 2) {
    for (std::size_t i = 0; i < kSpan; ++i) {
      if ((i & d) == 0) exchange(tags[i], tags[i + d]);
    }
  }
  for (std::size_t i = 0; i < kSpan; ++i) column.store(tags[i], first + i);
}

void sort_columns(const Columns<Narrow>& columns, const SortPlan& plan, std::size_t first,
                  std::size_t last, TaggedColumns& sorted) {
  constexpr std::make_index_sequence<kRegisterRowsMax> kIndices;
  if (columns.count <= kRegisterRowsMax) {
    const SortRows rows = plan.is_far ? choose_sort<Place::kFar>(columns.count, kIndices)
                                      : choose_sort<Place::kNear>(columns.count, kIndices);
    return rows({columns.rows, plan.codes.data(), sorted.ranks[1]}, columns.offset, plan.code_mask);
  }
  const auto sort = [&](std::size_t begin, std::size_t count, std::uint32_t* to) HWY_ATTR {
    const SortRows rows = choose_sort<Place::kHalf>(count, kIndices);
    rows({columns.rows + begin, plan.codes.data() + begin, to}, columns.offset, plan.code_mask);
  };
  const std::size_t lower = columns.count - columns.count / 2, upper = columns.count / 2;
  sort(0, lower, sorted.ranks[1]);
  sort(lower, upper, sorted.ranks[kHalf + 1]);
  // A merge before has moved the places that no row takes to the end.
  std::fill(sorted.ranks[lower + 1], sorted.ranks[kHalf + 1], TaggedColumns::kHighest);
  std::fill(sorted.ranks[kHalf + upper + 1], sorted.ranks[2 * kHalf + 1], TaggedColumns::kHighest);
  // The neighbours of the ranks that are asked for have to be in order too.
  const std::size_t begin = (first > 0 ? first - 1 : 0) / kSpan * kSpan;
  const std::size_t end = std::min(last + 2, 2 * kHalf);
  for (std::size_t at = 0; at < kCopiedColumns; at += kLanes) {
    const RankColumn column{sorted.ranks[1] + at};
    merge_far(column);
    for (std::size_t rank = begin; rank < end; rank += kSpan) {
      merge_near(column, rank);
    }
  }
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
