#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include "ballast/kernels/cpu/each_block.h"
#include "ballast/kernels/cpu/primitives.h"
#include "ballast/kernels/finite.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/all_finite.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::int32_t>;

// One vector of words; where there is a `to`, it goes there on the way.
template <bool kCopies>
HWY_INLINE hn::Vec<D> take_words(const float* from, float* to) {
  const D d;
  const auto words = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(from));
  if constexpr (kCopies) hn::StoreU(words, d, reinterpret_cast<std::int32_t*>(to));
  return words;
}

// A float is finite exactly when its exponent bits are not all ones, that is when its bits without
// the sign are below those of infinity. The largest such word of the range tells, with no branch
// inside.
template <bool kCopies>
HWY_INLINE bool scan(const float* HWY_RESTRICT from, float* HWY_RESTRICT to, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kChains = 4;  // of maxima, each waiting for its own only
  const auto without_sign = hn::Set(d, 0x7FFFFFFF);
  hn::Vec<D> largest_of[kChains];
  std::fill(std::begin(largest_of), std::end(largest_of), hn::Zero(d));
  std::size_t i = 0;
  for (; i + kChains * lanes <= count; i += kChains * lanes) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const std::size_t at = i + chain * lanes;
      const auto words = take_words<kCopies>(from + at, kCopies ? to + at : nullptr);
      largest_of[chain] = hn::Max(largest_of[chain], hn::And(words, without_sign));
    }
  }
  const auto first_two = hn::Max(largest_of[0], largest_of[1]);
  const auto last_two = hn::Max(largest_of[2], largest_of[3]);
  std::int32_t largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(first_two, last_two)));
  for (; i < count; ++i) {
    std::int32_t word;
    std::memcpy(&word, from + i, sizeof(word));
    if constexpr (kCopies) std::memcpy(to + i, &word, sizeof(word));
    largest = std::max(largest, word & 0x7FFFFFFF);
  }
  return largest < 0x7F800000;
}

// For the optimizers in double precision, whose vectors are short.
bool doubles_are_finite(const double* from, std::size_t count) {
  const hn::ScalableTag<double> d;
  constexpr double kLargest = std::numeric_limits<double>::max();
  auto are_finite = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto size = hn::Abs(hn::LoadU(d, from + i));
    are_finite = hn::And(are_finite, hn::Le(size, hn::Set(d, kLargest)));
  }
  bool rest_is_finite = true;
  for (; i < count; ++i) rest_is_finite = rest_is_finite && std::abs(from[i]) <= kLargest;
  return hn::AllTrue(d, are_finite) && rest_is_finite;
}

bool range_is_finite(const float* from, std::size_t count) {
  return scan<false>(from, nullptr, count);
}
bool copy_range(const float* from, float* to, std::size_t count) {
  return scan<true>(from, to, count);
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(range_is_finite);
HWY_EXPORT(copy_range);
HWY_EXPORT(doubles_are_finite);

bool all_finite(std::span<const float> values, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(range_is_finite);
  return holds_for_blocks(values.size(), threads, [&](std::size_t begin, std::size_t count) {
    return kernel(values.data() + begin, count);
  });
}

bool copy_finite(std::span<const float> from, std::span<float> to, std::size_t threads) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(copy_range);
  return holds_for_blocks(from.size(), threads, [&](std::size_t begin, std::size_t count) {
    return kernel(from.data() + begin, to.data() + begin, count);
  });
}

bool all_finite(std::span<const double> values) {
  return HWY_DYNAMIC_DISPATCH(doubles_are_finite)(values.data(), values.size());
}

}  // namespace ballast::kernels::cpu

namespace ballast::kernels {

bool all_finite(std::span<const float> values) { return cpu::all_finite(values, 1); }

bool all_finite(std::span<const double> values) { return cpu::all_finite(values); }

}  // namespace ballast::kernels
#endif
