#pragma once
// What a median by sorting needs to know of the weights before it looks at any value.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace ballast::kernels::cpu {

// Sorted values keep the number of their row in their lowest bits (column_sort-inl.h).
constexpr int kRowBits = 5;
constexpr std::size_t kTaggedRowsMax = std::size_t{1} << kRowBits;

// Tables of up to this many rows are sorted.
#ifndef BALLAST_SORT_ROWS_MAX
#define BALLAST_SORT_ROWS_MAX 32
#endif
constexpr std::size_t kSortRowsMax = BALLAST_SORT_ROWS_MAX;
static_assert(kSortRowsMax <= kTaggedRowsMax);

// Up to this many they are also sorted when the last median is known. A search from there takes
// more steps the more weight has moved, and more counts where medians are midpoints; sorting always
// takes the same time. For few rows that is less, but for an odd number of equal weights.
constexpr std::size_t kSortNotSearchRowsMax = std::min<std::size_t>(12, kSortRowsMax);

// In sorted order, the median of a column has a rank within [first_rank, last_rank] whatever its
// values are: the heaviest rows are the fewest that hold half of the weight, the lightest the most.
struct SortPlan {
  alignas(64) std::array<std::int32_t, kTaggedRowsMax> weights{};  // beyond the last row: zero
  std::array<std::int32_t, kTaggedRowsMax> row_numbers{};          // 0, 1, 2, ...
  std::int32_t lower_target = 0;  // the median is where the weight in order reaches this, or the
  std::int32_t upper_target = 0;  // mean of that and where it reaches this, one more if even
  std::size_t first_rank = 0, last_rank = 0;

  std::int64_t total() const { return std::int64_t{lower_target} + upper_target - 1; }
};

// How many weights, taken in this order, reach the target. Requires: all of them do.
inline std::size_t count_to_reach(std::span<const std::int32_t> weights, std::int64_t target) {
  std::size_t count = 0;
  for (std::int64_t sum = 0; sum < target; ++count) sum += weights[count];
  return count;
}

// Requires: 1 to kTaggedRowsMax weights of this total, which is positive and below 2^31.
inline SortPlan make_sort_plan(std::span<const std::int32_t> weights, std::int64_t total) {
  SortPlan plan;
  std::copy(weights.begin(), weights.end(), plan.weights.begin());
  std::iota(plan.row_numbers.begin(), plan.row_numbers.end(), 0);
  plan.lower_target = static_cast<std::int32_t>((total + 1) / 2);
  plan.upper_target = static_cast<std::int32_t>(total / 2 + 1);
  auto copies = plan.weights;
  const std::span<std::int32_t> ordered(copies.data(), weights.size());
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  plan.first_rank = count_to_reach(ordered, plan.lower_target) - 1;
  std::reverse(ordered.begin(), ordered.end());
  plan.last_rank = count_to_reach(ordered, plan.upper_target) - 1;
  return plan;
}

}  // namespace ballast::kernels::cpu
