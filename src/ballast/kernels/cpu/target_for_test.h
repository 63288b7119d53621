#pragma once
// Lets a test choose the instruction set that the kernels run on.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>

namespace ballast::kernels {

// While one lives, the kernels run on the given instruction set (HWY_AVX2, ...).
class OnTarget {
 public:
  explicit OnTarget(std::int64_t target) { choose(target); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
  ~OnTarget() { choose(0); }  // 0: what the machine has

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// Calls check() once on each instruction set that was compiled and that the machine has.
template <typename Check>
void on_each_target(const Check& check) {
  for (const std::int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) == 0 && target != HWY_SCALAR) continue;
    SCOPED_TRACE(testing::Message() << "target " << hwy::TargetName(target));
    const OnTarget on(target);
    check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace ballast::kernels
