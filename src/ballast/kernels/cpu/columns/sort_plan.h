#pragma once
// What sorting a column needs to know of the weights before it looks at any value.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>

namespace ballast::kernels::cpu {

// Tables of up to this many rows are sorted in registers, of up to twice as many by halves.
#ifndef BALLAST_SORT_ROWS_MAX
#define BALLAST_SORT_ROWS_MAX 32
#endif
constexpr std::size_t kRegisterRowsMax = BALLAST_SORT_ROWS_MAX;
constexpr std::size_t kSortRowsMax = 2 * kRegisterRowsMax;

// A sorted value has a code in its lowest bits that tells the weight of its row
// (column_tags-inl.h): the weight itself where all of them take few bits, else the number of the
// row, of which there must not be too many then.
constexpr int kWeightBitsMax = 14;
constexpr int kRowBits = 5;
constexpr std::size_t kNumberedRowsMax = std::size_t{1} << kRowBits;

struct SortPlan {
  static constexpr std::uint32_t kSignBit = 0x80000000;

  std::array<std::uint32_t, kSortRowsMax> codes{};  // of the rows, with kSignBit
  std::uint32_t code_mask = 0;
  std::int64_t total = 0;                                            // of the weights
  bool has_weights = false;                                          // as codes, else row numbers
  bool is_far = false;                                               // the table, beyond the caches
  alignas(64) std::array<std::int32_t, kNumberedRowsMax> weights{};  // by row number, else zero
};

// Where the weight of the sorted rows, added up in their order, reaches a target: at a rank within
// [first_rank, last_rank], whatever the values are.
struct RankGoal {
  std::int32_t weight;
  std::size_t first_rank, last_rank;
};

template <typename Weight>
bool can_be_codes(std::span<const Weight> weights) {
  return std::ranges::max(weights) < Weight{1} << kWeightBitsMax;
}

template <typename Weight>
bool can_sort(std::span<const Weight> weights) {
  if (weights.size() > kSortRowsMax) return false;
  return weights.size() <= kNumberedRowsMax || can_be_codes(weights);
}

// Requires: can_sort(weights), which are positive.
inline SortPlan make_sort_plan(std::span<const std::int32_t> weights) {
  SortPlan plan;
  plan.has_weights = can_be_codes(weights);
  plan.total = std::reduce(weights.begin(), weights.end(), std::int64_t{0});
  const auto heaviest = static_cast<std::uint32_t>(std::ranges::max(weights));
  const int bits = plan.has_weights ? std::bit_width(heaviest) : kRowBits;
  plan.code_mask = (1u << bits) - 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto code =
        plan.has_weights ? static_cast<std::uint32_t>(weights[i]) : static_cast<std::uint32_t>(i);
    plan.codes[i] = code | SortPlan::kSignBit;
  }
  if (!plan.has_weights) std::ranges::copy(weights, plan.weights.begin());
  return plan;
}

// How many weights, taken in this order, reach the target. Requires: all of them do.
inline std::size_t count_to_reach(std::span<const std::int32_t> weights, std::int64_t target) {
  std::size_t count = 0;
  for (std::int64_t sum = 0; sum < target; ++count) sum += weights[count];
  return count;
}

// The heaviest rows are the fewest that reach the target, the lightest the most.
// Requires: 1 to kSortRowsMax positive weights; 1 <= target <= their sum.
inline RankGoal make_rank_goal(std::span<const std::int32_t> weights, std::int64_t target) {
  std::array<std::int32_t, kSortRowsMax> copies;
  const std::span<std::int32_t> ordered(copies.data(), weights.size());
  std::ranges::copy(weights, ordered.begin());
  std::ranges::sort(ordered, std::greater<>());
  RankGoal goal{static_cast<std::int32_t>(target), count_to_reach(ordered, target) - 1, 0};
  std::ranges::reverse(ordered);
  goal.last_rank = count_to_reach(ordered, target) - 1;
  return goal;
}

// The median is where the weight in order reaches the lower goal, or, of an even total, the mean of
// that and where it reaches the upper one, which is one more.
struct MedianPlan {
  SortPlan sort;
  RankGoal lower, upper;

  bool is_even() const { return sort.total % 2 == 0; }
};

// Requires: can_sort(weights), which are positive.
inline MedianPlan make_median_plan(std::span<const std::int32_t> weights, bool is_far) {
  MedianPlan plan{make_sort_plan(weights), {}, {}};
  plan.sort.is_far = is_far;
  plan.lower = make_rank_goal(weights, (plan.sort.total + 1) / 2);
  plan.upper = make_rank_goal(weights, plan.sort.total / 2 + 1);
  return plan;
}

}  // namespace ballast::kernels::cpu
