#include "ballast/nn/instructions.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace ballast::nn {
namespace {

TEST(Instructions, LeaveOutWhatIsNewerThanAvx2) {
  const auto all = hwy::SupportedTargets();

  limit_to_avx2();

  EXPECT_EQ(hwy::SupportedTargets(), all & ~std::int64_t{HWY_AVX2 - 1});
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
}  // namespace ballast::nn
