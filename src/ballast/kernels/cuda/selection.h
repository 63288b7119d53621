#pragma once
// Private to kernels/: the value at which the rows of a column reach a weight, for many rows. The
// value is kept between two others, which pivots bring together; what is then left between them, a
// few rows, is compared by pairs. No input takes more than a fixed number of passes.
//
// A crew holds the rows of a column and makes the passes over them: a loop on the host, on the
// device threads that each have their share of the rows and all call this together. One of them
// leads: it alone knows the bracket and decides, and tells the others where to look.

#include "ballast/kernels/cuda/column.h"

namespace ballast::kernels::cuda {

// The value sought is above `low` and at most `high`; up to these the rows weigh `below` and
// `through`.
template <typename Sum>
struct Bracket {
  float low, high;
  Sum below, through;
};

template <typename Sum>
BALLAST_COLUMN bool is_one_value(const Bracket<Sum>& b) {
  return ordered_key(b.high) - ordered_key(b.low) <= 1;
}

// All values from the smallest to the largest.
template <typename Sum>
BALLAST_COLUMN Bracket<Sum> bracket_all(float smallest, float largest, Sum total) {
  return {value_of_key(ordered_key(smallest) - 1), largest, 0, total};
}

// Halfway between the ends in the order of all floats: halves what is left whatever the values are.
template <typename Sum>
BALLAST_COLUMN float middle(const Bracket<Sum>& b) {
  const std::uint32_t low = ordered_key(b.low), high = ordered_key(b.high);
  return value_of_key(low + (high - low) / 2);
}

// A pivot need not be exact.
BALLAST_COLUMN float quick_root(float x) {
#ifdef __CUDA_ARCH__
  return x * rsqrtf(x);
#else
  return std::sqrt(x);
#endif
}
BALLAST_COLUMN float quick_quotient(float x, float y) {
#ifdef __CUDA_ARCH__
  return __fdividef(x, y);
#else
  return x / y;
#endif
}

// Where the weight would be reached if it grew evenly between the ends, and by about what is left
// to chance beyond it, towards the farther end: which then is likely the one that comes nearer.
template <typename Sum>
BALLAST_COLUMN float even_pivot(const Bracket<Sum>& b, Sum threshold, float row_weight) {
  constexpr float kMargin = 0.7f;
  const float to_low = static_cast<float>(threshold - b.below);
  const float to_high = static_cast<float>(b.through - threshold);
  const float all = to_low + to_high, half = 0.5f * all;
  const float margin = kMargin * quick_root(all * row_weight);
  const float near = to_low < half ? to_low : to_high;
  const float aim = near + margin < half ? near + margin : half;
  const float part = quick_quotient(to_low < half ? aim : all - aim, all);
  const float pivot = b.low + part * (b.high - b.low);
  return pivot > b.low && pivot < b.high ? pivot : middle(b);  // also where it is no number
}

template <typename Sum>
BALLAST_COLUMN void narrow(Bracket<Sum>& b, float pivot, Sum through_pivot, Sum threshold) {
  if (through_pivot < threshold) {
    b.low = pivot;
    b.below = through_pivot;
  } else {
    b.high = pivot;
    b.through = through_pivot;
  }
}

inline constexpr unsigned kCandidatesMax = 32;  // rows that are compared by pairs
inline constexpr unsigned kCandidatesAim = 14;  // guessed from their weight
inline constexpr unsigned kPassesBetween = 12;  // at most, before it is tried whether few are left

struct Extremes {
  float smallest, largest;
};

// A crew gives
//   leads(): whether this is the thread that decides;
//   publish(bracket, pivot): tells the others, who know when any() returns;
//   any(answer): whether some leader of the block answers yes, so that all go on together;
// and, from what was published last, answers of which the leader's are right:
//   weight_through(): the weight of the rows up to the pivot;
//   gather(): takes down up to kCandidatesMax rows in the bracket and says how many there are;
//   extremes(): the smallest and the largest value in it;
//   pick(threshold): the value sought, from the rows that were taken down.
BALLAST_ANY_SIDE
template <typename Sum, typename Crew>
BALLAST_COLUMN Standing<Sum> select(Crew& crew, unsigned count, Bracket<Sum> b, Sum total,
                                    Sum threshold) {
  const float row_weight = static_cast<float>(total) / static_cast<float>(count);
  const auto aim = static_cast<Sum>(row_weight * kCandidatesAim);
  bool is_slow = false, is_one = false;
  for (;;) {
    for (unsigned pass = 0;; ++pass) {
      bool is_wide = false;
      float pivot = b.high;
      const Sum between = b.through - b.below;
      if (crew.leads()) {
        is_one = is_one_value(b);
        is_wide = between > aim && !is_one && pass < kPassesBetween;
        if (is_wide) pivot = is_slow ? middle(b) : even_pivot(b, threshold, row_weight);
        crew.publish(b, pivot);
      }
      if (!crew.any(is_wide)) break;
      const Sum through_pivot = crew.weight_through();
      if (!is_wide) continue;
      narrow(b, pivot, through_pivot, threshold);
      is_slow = !is_slow && b.through - b.below > between / 2;
    }
    const bool is_many = crew.gather() > kCandidatesMax && crew.leads() && !is_one;
    if (!crew.any(is_many)) break;
    const Extremes ends = crew.extremes();
    if (!is_many) continue;
    b.low = value_of_key(ordered_key(ends.smallest) - 1);
    b.high = ends.largest;
    is_slow = true;
  }
  const Standing<Sum> single{b.high + 0.0f, b.below, b.through - b.below};
  if (!crew.any(crew.leads() && !is_one)) return single;
  const Standing<Sum> picked = crew.pick(threshold);
  return is_one ? single : picked;
}

template <typename Sum>
struct SelectedMedian {
  Standing<Sum> standing;  // of the value that the median is at, or begins at
  float median;            // as the definition rounds it
};
// A crew for this also gives
//   next_above(): the smallest value above the pivot.
// The leader's answer is right.
BALLAST_ANY_SIDE
template <typename Sum, typename Crew>
BALLAST_COLUMN SelectedMedian<Sum> select_median(Crew& crew, unsigned count,
                                                 const Bracket<Sum>& all, Sum total) {
  const Standing<Sum> s = select(crew, count, all, total, static_cast<Sum>(total - total / 2));
  const bool is_between = crew.leads() && side(s, total) == Side::kBetween;
  if (crew.leads()) crew.publish({}, s.value);
  if (!crew.any(is_between)) return {s, s.value + 0.0f};
  const double above = crew.next_above();
  const auto halfway = static_cast<float>((static_cast<double>(s.value) + above) / 2.0);
  return {s, (is_between ? halfway : s.value) + 0.0f};
}

// One of the rows that were taken down, as seen from the others.
template <typename Sum>
struct Candidate {
  Sum below, at;  // weights
  bool is_first;  // of those with this value
};
BALLAST_ANY_SIDE
template <typename Sum, typename ValueOf, typename WeightOf>
BALLAST_COLUMN Candidate<Sum> compare(const ValueOf& value, const WeightOf& weight, unsigned count,
                                      unsigned which) {
  Candidate<Sum> seen{0, 0, true};
  const float mine = value(which);
  for (unsigned i = 0; i < count; ++i) {
    const float other = value(i);
    const Sum units = weight(i);
    seen.below += other < mine ? units : 0;
    seen.at += other == mine ? units : 0;
    seen.is_first = seen.is_first && !(other == mine && i < which);
  }
  return seen;
}

}  // namespace ballast::kernels::cuda
