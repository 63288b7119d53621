#pragma once
// Lets a test choose the instruction set that the kernels run on.

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

}  // namespace ballast::kernels
