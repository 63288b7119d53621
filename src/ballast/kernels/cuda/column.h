#pragma once
// Private to kernels/: what is computed on one column of a table. The same functions run on the
// device, one thread a column, and on the host, where the ordinary tests compare them with the
// reference.
//
// A column is anything that gives the value of a row, weights anything that gives its units. Sums
// of units are 32 bits wide where twice the total fits, else 64.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "ballast/kernels/cpu/sorting_network.h"

#ifdef __CUDACC__
#define BALLAST_COLUMN __host__ __device__ __forceinline__
#define BALLAST_ANY_SIDE _Pragma("nv_exec_check_disable")  // calls what is of one side only
#define BALLAST_UNROLL _Pragma("unroll")
#define BALLAST_UNROLL_SOME _Pragma("unroll 8")  // enough loads on their way at once
#else
#define BALLAST_COLUMN inline
#define BALLAST_ANY_SIDE
#define BALLAST_UNROLL
#define BALLAST_UNROLL_SOME
#endif

namespace ballast::kernels::cuda {

// A value of a column, the weight of the rows below it and of those equal to it.
template <typename Sum>
struct Standing {
  float value;
  Sum below;
  Sum at;
};

// Where the median lies, seen from a value.
enum class Side { kHere, kBetween, kAbove, kBelow };  // kBetween: halfway to the next value above

template <typename Sum>
BALLAST_COLUMN Side side(const Standing<Sum>& s, Sum total) {
  if (2 * s.below >= total) return Side::kBelow;
  const Sum through = 2 * (s.below + s.at);
  if (through < total) return Side::kAbove;
  return through == total ? Side::kBetween : Side::kHere;
}

template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Standing<Sum> next_above(const Column& column, const WeightOf& weight,
                                        unsigned count, const Standing<Sum>& from) {
  Standing<Sum> next{std::numeric_limits<float>::infinity(), from.below + from.at, 0};
  BALLAST_UNROLL_SOME
  for (unsigned i = 0; i < count; ++i) {
    const float x = column(i);
    const Sum units = static_cast<Sum>(weight(i));
    const bool is_nearer = x > from.value && x < next.value;
    next.at = is_nearer ? units : x == next.value ? next.at + units : next.at;
    next.value = is_nearer ? x : next.value;
  }
  return next;
}

template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Standing<Sum> next_below(const Column& column, const WeightOf& weight,
                                        unsigned count, const Standing<Sum>& from) {
  Standing<Sum> next{-std::numeric_limits<float>::infinity(), from.below, 0};
  BALLAST_UNROLL_SOME
  for (unsigned i = 0; i < count; ++i) {
    const float x = column(i);
    const Sum units = static_cast<Sum>(weight(i));
    const bool is_nearer = x < from.value && x > next.value;
    next.at = is_nearer ? units : x == next.value ? next.at + units : next.at;
    next.value = is_nearer ? x : next.value;
  }
  next.below -= next.at;
  return next;
}

// The value with its standing, counted afresh.
template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Standing<Sum> standing_of(const Column& column, const WeightOf& weight,
                                         unsigned count, float value) {
  Standing<Sum> s{value, 0, 0};
  BALLAST_UNROLL_SOME
  for (unsigned i = 0; i < count; ++i) {
    const float x = column(i);
    const Sum units = static_cast<Sum>(weight(i));
    s.below += x < value ? units : 0;
    s.at += x == value ? units : 0;
  }
  return s;
}

// Floats as whole numbers in the same order; both zeros are one number, and there are no gaps.
BALLAST_COLUMN std::uint32_t ordered_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  return bits >> 31 != 0 ? 0u - (bits ^ 0x80000000u) + 0x80000000u : bits | 0x80000000u;
}
BALLAST_COLUMN float value_of_key(std::uint32_t key) {
  return std::bit_cast<float>(key >> 31 != 0 ? key ^ 0x80000000u : 0u - key);
}

// The weight of the rows whose key is below the pivot.
template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Sum weight_below(const Column& column, const WeightOf& weight, unsigned count,
                                std::uint32_t pivot) {
  Sum sum = 0;
  BALLAST_UNROLL_SOME
  for (unsigned i = 0; i < count; ++i) {
    sum += ordered_key(column(i)) < pivot ? static_cast<Sum>(weight(i)) : 0;
  }
  return sum;
}

// The smallest value up to which the rows weigh at least `threshold`, by bisecting its bits: 32
// counts, whatever the values are. Requires: 1 <= threshold <= the total.
BALLAST_ANY_SIDE
template <typename Sum, typename WeightBelow>
BALLAST_COLUMN Standing<Sum> quantile(Sum total, Sum threshold, const WeightBelow& weight_below) {
  std::uint32_t key = 0;
  Sum below = 0, through = total;
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    const Sum sum = weight_below(key | bit);
    if (sum < threshold) {
      key |= bit;
      below = sum;
    } else {
      through = sum;
    }
  }
  return {value_of_key(key), below, through - below};
}
template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Standing<Sum> quantile(const Column& column, const WeightOf& weight, unsigned count,
                                      Sum total, Sum threshold) {
  return quantile(total, threshold, [&](std::uint32_t pivot) {
    return weight_below<Sum>(column, weight, count, pivot);
  });
}

// How a search looks at a column: here all rows, one after the other.
template <typename Sum, typename Column, typename WeightOf>
struct ColumnSteps {
  const Column& column;
  const WeightOf& weight;
  unsigned count;
  BALLAST_COLUMN Standing<Sum> next_above(const Standing<Sum>& from) const {
    return cuda::next_above(column, weight, count, from);
  }
  BALLAST_COLUMN Standing<Sum> next_below(const Standing<Sum>& from) const {
    return cuda::next_below(column, weight, count, from);
  }
  BALLAST_COLUMN Standing<Sum> quantile(Sum total, Sum threshold) const {
    return cuda::quantile(column, weight, count, total, threshold);
  }
};

// Moves from any value to the one that the median is at, or begins at, value by value; after a few
// steps by bisection, so that no input takes more than a fixed number of counts.
BALLAST_ANY_SIDE
template <typename Sum, typename Steps>
BALLAST_COLUMN Standing<Sum> search(const Steps& steps, Sum total, Standing<Sum> from) {
  constexpr int kStepsMax = 8;
  for (int step = 0; step < kStepsMax; ++step) {
    const Side where = side(from, total);
    if (where == Side::kHere || where == Side::kBetween) return from;
    from = where == Side::kAbove ? steps.next_above(from) : steps.next_below(from);
  }
  const Side where = side(from, total);
  if (where == Side::kHere || where == Side::kBetween) return from;
  return steps.quantile(total, static_cast<Sum>((total + 1) / 2));
}
template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN Standing<Sum> search(const Column& column, const WeightOf& weight, unsigned count,
                                    Sum total, const Standing<Sum>& from) {
  return search(ColumnSteps<Sum, Column, WeightOf>{column, weight, count}, total, from);
}

// The median of a column whose search ended at `s`, as the definition rounds it. Never -0.
BALLAST_ANY_SIDE
template <typename Sum, typename Steps>
BALLAST_COLUMN float median_at(const Steps& steps, Sum total, const Standing<Sum>& s) {
  if (side(s, total) != Side::kBetween) return s.value + 0.0f;
  const float above = steps.next_above(s).value;
  return static_cast<float>((static_cast<double>(s.value) + static_cast<double>(above)) / 2.0) +
         0.0f;
}
template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN float median_at(const Column& column, const WeightOf& weight, unsigned count,
                               Sum total, const Standing<Sum>& s) {
  return median_at(ColumnSteps<Sum, Column, WeightOf>{column, weight, count}, total, s);
}

// ---- a column whose rows are shared out: what is found in two shares makes what is found in both

// Of two answers of next_above().
template <typename Sum>
BALLAST_COLUMN Standing<Sum> nearer_above(const Standing<Sum>& a, const Standing<Sum>& b) {
  if (a.value == b.value) return {a.value, a.below, a.at + b.at};
  return a.value < b.value ? a : b;
}

// Of two answers of next_below() from the same standing, whose `below` counts from there.
template <typename Sum>
BALLAST_COLUMN Standing<Sum> nearer_below(const Standing<Sum>& a, const Standing<Sum>& b) {
  if (a.value == b.value) return {a.value, a.below - b.at, a.at + b.at};
  return a.value > b.value ? a : b;
}

// Of two answers of standing_of().
template <typename Sum>
BALLAST_COLUMN Standing<Sum> both(const Standing<Sum>& a, const Standing<Sum>& b) {
  return {a.value, a.below + b.below, a.at + b.at};
}

// ---- one row replaced

// What is remembered of a column: the median with its standing, and a gap around it. No row lies
// strictly between `lower` and `upper` but those at the median, so that a replaced row which was
// the median and stays in the gap is the median still. A gap may be smaller than it could be, down
// to the value alone. Where the median lies between two values and is not one itself, `below` is
// kUnknown and the rest may be anything.
inline constexpr std::uint32_t kUnknown = 0xFFFFFFFFu;
struct Remembered {
  float value;
  std::uint32_t below, at;
  float lower, upper;
};

BALLAST_COLUMN Remembered to_remember(const Standing<std::uint32_t>& s, std::uint32_t total,
                                      float lower, float upper) {
  if (side(s, total) == Side::kHere) return {s.value, s.below, s.at, lower, upper};
  return {s.value, kUnknown, 0, s.value, s.value};
}

// The nearest values on both sides of a value, infinite where there are none.
struct Gap {
  float lower, upper;
};
template <typename Column>
BALLAST_COLUMN Gap gap_around(const Column& column, unsigned count, float value) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Gap gap{-kInfinity, kInfinity};
  BALLAST_UNROLL_SOME
  for (unsigned i = 0; i < count; ++i) {
    const float x = column(i);
    gap.lower = x < value && x > gap.lower ? x : gap.lower;
    gap.upper = x > value && x < gap.upper ? x : gap.upper;
  }
  return gap;
}

struct ReplacedRow {
  std::uint32_t old_weight, new_weight;
};

// Brings what is remembered up to date. False where the median is another value now, or is not
// known to be the same: the column must then be searched, from this standing if it is known.
BALLAST_COLUMN bool follow(Remembered& s, float old_value, float new_value, const ReplacedRow& row,
                           std::uint32_t total) {
  if (s.below == kUnknown) return false;
  s.below -= old_value < s.value ? row.old_weight : 0;
  s.at -= old_value == s.value ? row.old_weight : 0;
  if (new_value > s.lower && new_value < s.upper) {
    if (s.at == 0) s.value = new_value + 0.0f;  // it was the only one in the gap, and is again
    s.lower = new_value < s.value ? new_value : s.lower;
    s.upper = new_value > s.value ? new_value : s.upper;
  }
  s.below += new_value < s.value ? row.new_weight : 0;
  s.at += new_value == s.value ? row.new_weight : 0;
  return side(Standing<std::uint32_t>{s.value, s.below, s.at}, total) == Side::kHere;
}

// ---- few rows: a sorting network in registers

// A tag is a value whose last bits are replaced by the number of its row, so that an exchange is a
// minimum and a maximum and weights need not travel along.
template <unsigned kRows>
inline constexpr std::uint32_t kTagMask = std::bit_ceil(kRows) - 1;

template <unsigned kRows>
BALLAST_COLUMN float make_tag(float value, unsigned row) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) & ~kTagMask<kRows>) | row);
}
template <unsigned kRows>
BALLAST_COLUMN unsigned row_of_tag(float tag) {
  return std::bit_cast<std::uint32_t>(tag) & kTagMask<kRows>;
}
// The highest value that a tag may stand for.
template <unsigned kRows>
BALLAST_COLUMN float highest_of_tag(float tag) {
  const auto bits = std::bit_cast<std::uint32_t>(tag);
  return std::bit_cast<float>(bits >> 31 != 0 ? bits & ~kTagMask<kRows> : bits | kTagMask<kRows>);
}
// Whether the two values may be equal or in the other order.
template <unsigned kRows>
BALLAST_COLUMN bool may_tie(float left, float right) {
  return (std::bit_cast<std::uint32_t>(left) ^ std::bit_cast<std::uint32_t>(right)) <=
         kTagMask<kRows>;
}

template <std::uint32_t kLow, std::uint32_t kHigh>
BALLAST_COLUMN void exchange(float* tags) {
  const float a = tags[kLow], b = tags[kHigh];
#ifdef __CUDA_ARCH__
  tags[kLow] = fminf(a, b);
  tags[kHigh] = fmaxf(a, b);
#else
  tags[kLow] = a < b ? a : b;
  tags[kHigh] = a < b ? b : a;
#endif
}

template <unsigned kRows, std::size_t kFirst, std::size_t... kIndex>
BALLAST_COLUMN void exchange_some([[maybe_unused]] float* tags, std::index_sequence<kIndex...>) {
  [[maybe_unused]] constexpr auto kNetwork = cpu::make_network<kRows>();
  (exchange<kNetwork[kFirst + kIndex].low, kNetwork[kFirst + kIndex].high>(tags), ...);
}
template <unsigned kRows, std::size_t kFirst = 0>
BALLAST_COLUMN void sort_tags(float* tags) {
  constexpr std::size_t kAtOnce = 128;  // compilers limit the length of an expression
  constexpr std::size_t kLeft = cpu::exchange_count(kRows) - kFirst;
  exchange_some<kRows, kFirst>(tags,
                               std::make_index_sequence<(kLeft < kAtOnce ? kLeft : kAtOnce)>());
  if constexpr (kLeft > kAtOnce) sort_tags<kRows, kFirst + kAtOnce>(tags);
}

// A sort of more rows than there are takes this for the missing ones, with weight 0 and numbers
// behind the others: it comes last, and adds nothing.
inline constexpr float kNoRow = std::numeric_limits<float>::max();

// The ranks at which the weight of the sorted rows can reach a threshold: more rows than `first`
// are always needed, and `last` always suffice.
struct RankRange {
  unsigned first, last;
};

// The value at which the rows of sorted tags reach the threshold, with its standing and a gap
// around it. Tags leave open what is equal but for the last bits; there the column itself decides,
// and the gap is the value alone.
struct Reached {
  Standing<std::uint32_t> standing;
  Gap gap;
};
template <unsigned kRows, typename Column, typename WeightOf>
BALLAST_COLUMN Reached reach(const float* tags, const Column& column, const WeightOf& weight,
                             std::uint32_t threshold, const RankRange& ranks) {
  constexpr unsigned kStride = 4;
  std::uint32_t sum = 0, below = 0;
  float before = tags[0], tag = tags[0], after = tags[kRows > 1 ? 1 : 0];
  BALLAST_UNROLL
  for (unsigned group = 0; group < kRows; group += kStride) {
    if (group > ranks.last) continue;
    const bool is_in_range = group + kStride > ranks.first;
    BALLAST_UNROLL
    for (unsigned i = 0; i < kStride; ++i) {
      const unsigned rank = group + i;
      if (rank >= kRows) continue;
      if (is_in_range && sum < threshold) {
        before = tags[rank > 0 ? rank - 1 : 0];
        tag = tags[rank];
        after = tags[rank + 1 < kRows ? rank + 1 : rank];
        below = sum;
      }
      sum += weight(row_of_tag<kRows>(tags[rank]));
    }
  }
  const unsigned row = row_of_tag<kRows>(tag);
  const bool is_open = (row_of_tag<kRows>(before) != row && may_tie<kRows>(before, tag)) ||
                       (row_of_tag<kRows>(after) != row && may_tie<kRows>(after, tag)) ||
                       (std::bit_cast<std::uint32_t>(tag) & 0x7FFFFFFFu) <= kTagMask<kRows>;
  if (!is_open) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool is_first = row_of_tag<kRows>(before) == row,
               is_last = row_of_tag<kRows>(after) == row;
    return {{column(row), below, weight(row)},
            {is_first ? -kInfinity : highest_of_tag<kRows>(before),
             is_last ? kInfinity : -highest_of_tag<kRows>(-after)}};
  }
  // From the smallest value that shares the tag's leading bits, upwards.
  float smallest = std::numeric_limits<float>::infinity();
  for (unsigned i = 0; i < kRows; ++i) {
    const float x = column(i);
    if (may_tie<kRows>(make_tag<kRows>(x, row), tag) && x < smallest) smallest = x;
  }
  Standing<std::uint32_t> s = standing_of<std::uint32_t>(column, weight, kRows, smallest);
  while (s.below + s.at < threshold) s = next_above(column, weight, kRows, s);
  return {s, {s.value, s.value}};
}

// ---- trimmed mean

// The mean of what lies between two cuts on the line on which the sorted rows lie end to end.
// `low` is the first value that reaches beyond the lower cut, `high` the first that reaches the
// upper one. Added in the order of the rows, in double precision.
struct Cuts {
  double low, high;
};

// The weights at which the two values are reached.
struct CutThresholds {
  std::uint64_t low, high;
};
inline CutThresholds cut_thresholds(const Cuts& cuts, std::uint64_t total) {
  const auto low = static_cast<std::uint64_t>(std::floor(cuts.low)) + 1;
  const auto high = static_cast<std::uint64_t>(std::ceil(cuts.high));
  return {low < total ? low : total, high < total ? high : total};
}

template <typename Sum, typename Column, typename WeightOf>
BALLAST_COLUMN double sum_between(const Column& column, const WeightOf& weight, unsigned first,
                                  unsigned count, unsigned step, const Standing<Sum>& low,
                                  const Standing<Sum>& high) {
  double sum = 0.0;
  for (unsigned i = first; i < count; i += step) {
    const float x = column(i);
    if (!(x > low.value) || !(x < high.value)) continue;
    sum += static_cast<double>(weight(i)) * static_cast<double>(x);
  }
  return sum;
}

template <typename Sum>
BALLAST_COLUMN float trimmed_mean(double sum_inside, const Cuts& cuts, const Standing<Sum>& low,
                                  const Standing<Sum>& high) {
  if (low.value == high.value) return low.value;
  const double at_low = static_cast<double>(low.below + low.at) - cuts.low;
  const double at_high = cuts.high - static_cast<double>(high.below);
  const double sum = sum_inside + at_low * static_cast<double>(low.value) +
                     at_high * static_cast<double>(high.value);
  return static_cast<float>(sum / (cuts.high - cuts.low));
}

}  // namespace ballast::kernels::cuda
