#include <atomic>
#include <cstdint>
#include <cstring>

#include "ballast/base/parallel.h"
#include "ballast/kernels/blocks.h"
#include "ballast/kernels/cpu/primitives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/all_finite.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A float is finite exactly when its exponent bits are not all ones, that is when its bits without
// the sign are below those of infinity. The largest such word of the range tells, with no branch
// inside.
bool range_is_finite(const float* HWY_RESTRICT values, std::size_t count) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* words = reinterpret_cast<const std::int32_t*>(values);
  const auto without_sign = hn::Set(d, 0x7FFFFFFF);
  auto largest0 = hn::Zero(d), largest1 = hn::Zero(d), largest2 = hn::Zero(d),
       largest3 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    largest0 = hn::Max(largest0, hn::And(hn::LoadU(d, words + i), without_sign));
    largest1 = hn::Max(largest1, hn::And(hn::LoadU(d, words + i + lanes), without_sign));
    largest2 = hn::Max(largest2, hn::And(hn::LoadU(d, words + i + 2 * lanes), without_sign));
    largest3 = hn::Max(largest3, hn::And(hn::LoadU(d, words + i + 3 * lanes), without_sign));
  }
  largest0 = hn::Max(hn::Max(largest0, largest1), hn::Max(largest2, largest3));
  std::int32_t largest = hn::GetLane(hn::MaxOfLanes(d, largest0));
  for (; i < count; ++i) {
    std::int32_t word;
    std::memcpy(&word, values + i, sizeof(word));
    largest = std::max(largest, word & 0x7FFFFFFF);
  }
  return largest < 0x7F800000;
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels::cpu {

HWY_EXPORT(range_is_finite);

bool all_finite(std::span<const float> values, std::size_t threads) {
  const Blocks blocks(values.size());
  std::atomic<bool> finite{true};
  const auto kernel = HWY_DYNAMIC_DISPATCH(range_is_finite);
  parallel_for(threads, blocks.count(), [&](std::size_t block) {
    const std::size_t begin = blocks.begin(block);
    if (!kernel(values.data() + begin, blocks.end(block) - begin)) finite = false;
  });
  return finite;
}

}  // namespace ballast::kernels::cpu
#endif
