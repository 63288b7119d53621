#pragma once
// What the column kernels (weighted median, trimmed mean) are given, and the memory they work in.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/kernels/cpu/columns/sort_plan.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::cpu {

// The table and its weights in the lane types of the kernels: 32-bit where they fit, else 64-bit.
struct ColumnJob {
  RowsView rows;
  std::int64_t total;
  bool is_narrow;
  std::span<const std::int32_t> narrow_weights;
  std::span<const std::int64_t> wide_weights;
};

// Whether the table is likely to be larger than what the last-level cache holds of it.
inline bool is_far(RowsView rows) {
  constexpr std::size_t kNearValues = std::size_t{1} << 22;
  return rows.row_count() * rows.dim() > kNearValues;
}

// Up to how many rows sorting takes less time than a search from the last median, in which much has
// moved. A search takes time in proportion to the rows, sorting more than that.
std::size_t sorted_rows_max();

// How the columns are sorted for their medians, if that can be done.
inline std::optional<MedianPlan> median_plan(const ColumnJob& job) {
  if (!job.is_narrow || !can_sort(job.narrow_weights)) return std::nullopt;
  return make_median_plan(job.narrow_weights, is_far(job.rows));
}

// Columns that are worked on at a time where a kernel passes over them often.
constexpr std::size_t kCopiedColumns = 64;

// Of many rows only half as many are copied, since the first-level cache does not hold more.
constexpr std::size_t columns_to_copy(std::size_t rows) {
  return rows <= 128 ? kCopiedColumns : kCopiedColumns / 2;
}

// How many are fetched at a time: memory gives four lines of a row in a third less time than twice
// two. Of very many rows the second-level cache would not hold as much.
constexpr std::size_t columns_to_fetch(std::size_t rows) {
  return rows <= 1024 ? kCopiedColumns : columns_to_copy(rows);
}

// What is written vector by vector may end so many columns further.
constexpr std::size_t kColumnsBeyond = 16;

// Memory of one thread while it works on one block of columns.
struct ColumnScratch {
  float* copies;              // kCopiedColumns and kColumnsBeyond of each row, on a cache line
  const float** copied_rows;  // pointers into it
};

// Calls use(job) with the weights converted. Keeps the memory per calling thread, so that only the
// first call of a size allocates.
template <typename Use>
void with_column_job(RowsView rows, const Weights& weights, const Use& use) {
  static thread_local std::vector<std::int32_t> narrow;
  static thread_local std::vector<std::int64_t> wide;
  narrow.clear();
  wide.clear();
  for (const std::uint64_t unit : weights.units()) {
    if (weights.is_narrow()) {
      narrow.push_back(static_cast<std::int32_t>(unit));
    } else {
      wide.push_back(static_cast<std::int64_t>(unit));
    }
  }
  use(ColumnJob{rows, static_cast<std::int64_t>(weights.total()), weights.is_narrow(), narrow,
                wide});
}

// This thread's scratch memory for a table of row_count rows.
inline ColumnScratch column_scratch(std::size_t row_count) {
  static thread_local AlignedVector<float> copies;
  static thread_local std::vector<const float*> copied_rows;
  copies.resize(row_count * (kCopiedColumns + kColumnsBeyond));
  copied_rows.resize(row_count);
  return {copies.data(), copied_rows.data()};
}

}  // namespace ballast::kernels::cpu
