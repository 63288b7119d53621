// The steps of optimizers: loops that vectorise by themselves, each with its check in the same
// pass. Compiled with -ffp-contract=off, see base/target_clones.h.

#include <algorithm>

#include "ballast/base/aligned.h"
#include "ballast/base/target_clones.h"
#include "ballast/kernels/cpu/each_block.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/finite.h"

namespace ballast::kernels::cpu {
namespace {

BALLAST_CLONES bool descend_range(const float* w, const float* direction, double rate,
                                  float* __restrict next, std::size_t count) {
  FiniteCheck<float> check;
  for (std::size_t j = 0; j < count; ++j) {
    next[j] = static_cast<float>(w[j] - rate * direction[j]);
    check.see(next[j]);
  }
  return check.holds();
}

BALLAST_CLONES bool average_range(const float* newest, const float* before, double share,
                                  float* __restrict next, std::size_t count) {
  FiniteCheck<float> check;
  for (std::size_t j = 0; j < count; ++j) {
    next[j] = static_cast<float>(share * newest[j] + (1.0 - share) * before[j]);
    check.see(next[j]);
  }
  return check.holds();
}

// The same vectors as host::StepVectors, from one block on.
struct StepRange {
  const float *w, *direction, *x;
  float *next_w, *next_x;
  std::size_t count;
};

BALLAST_CLONES bool step_range(const StepRange& range, double rate, double share) {
  float* __restrict next_w = range.next_w;
  float* __restrict next_x = range.next_x;
  FiniteCheck<float> check;
  for (std::size_t j = 0; j < range.count; ++j) {
    const auto moved = static_cast<float>(range.w[j] - rate * range.direction[j]);
    const auto averaged = static_cast<float>(share * moved + (1.0 - share) * range.x[j]);
    check.see(moved);
    check.see(averaged);
    next_w[j] = moved;
    next_x[j] = averaged;
  }
  return check.holds();
}

// The same vectors as host::CorrectionSpans, from one block on.
struct CorrectionRange {
  const float *gradient, *before, *reference;
  float* next;
  std::size_t count;
};

BALLAST_CLONES bool correct_range(const CorrectionRange& range, double keep) {
  const CorrectionRange r = range;
  FiniteCheck<float> check;
  for (std::size_t j = 0; j < r.count; ++j) {
    const double difference = static_cast<double>(r.before[j]) - r.reference[j];
    const auto corrected = static_cast<float>(r.gradient[j] + keep * difference);
    check.see(corrected);
    r.next[j] = corrected;
  }
  return check.holds();
}

}  // namespace

bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next, std::size_t threads) {
  return holds_for_blocks(next.size(), threads, [&](std::size_t begin, std::size_t count) {
    return descend_range(&w[begin], &direction[begin], rate, &next[begin], count);
  });
}

// A stretch of the direction waits in the first-level cache for its step.
bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                   std::span<float> next, std::size_t threads) {
  return holds_for_blocks(next.size(), threads, [&](std::size_t begin, std::size_t count) {
    constexpr std::size_t kStretch = 2048;
    alignas(kCacheLineBytes) float stretch[kStretch];
    bool holds = true;
    for (const std::size_t end = begin + count; begin < end; begin += kStretch) {
      const std::size_t size = std::min(kStretch, end - begin);
      combine_range(direction, begin, begin + size, stretch);
      holds = descend_range(&w[begin], stretch, rate, &next[begin], size) && holds;
    }
    return holds;
  });
}

bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next, std::size_t threads) {
  return holds_for_blocks(next.size(), threads, [&](std::size_t begin, std::size_t count) {
    return average_range(&newest[begin], &before[begin], share, &next[begin], count);
  });
}

bool descend_and_average(const host::StepVectors& v, double rate, double share,
                         std::size_t threads) {
  return holds_for_blocks(v.w.size(), threads, [&](std::size_t begin, std::size_t count) {
    const StepRange range{&v.w[begin],      &v.direction[begin], &v.x[begin],
                          &v.next_w[begin], &v.next_x[begin],    count};
    return step_range(range, rate, share);
  });
}

bool correct(const host::CorrectionSpans& spans, double keep, std::size_t threads) {
  return holds_for_blocks(spans.next.size(), threads, [&](std::size_t begin, std::size_t count) {
    const CorrectionRange range{&spans.gradient[begin], &spans.before[begin],
                                &spans.reference[begin], &spans.next[begin], count};
    return correct_range(range, keep);
  });
}

}  // namespace ballast::kernels::cpu
