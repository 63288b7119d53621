#include "ballast/kernels/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::kernels {
namespace {

template <typename Real>
class AllFinite : public testing::Test {};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(AllFinite, Reals);

TYPED_TEST(AllFinite, FindsOneBadValueAnywhere) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const std::size_t size : {1, 3, 15, 16, 17, 63, 64, 65, 1000, 5000}) {
    std::vector<TypeParam> values(size, Limits::max());
    EXPECT_TRUE(all_finite(values));
    for (std::size_t at = 0; at < size; at += 1 + size / 97) {
      for (const TypeParam bad :
           {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
        const TypeParam good = std::exchange(values[at], bad);
        ASSERT_FALSE(all_finite(values)) << size << " values, bad one at " << at;
        values[at] = good;
      }
    }
  }
}

TYPED_TEST(AllFinite, TakesTheSmallestNumbersAndNone) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_TRUE(all_finite(std::vector<TypeParam>{-Limits::denorm_min(), Limits::lowest(), -0.0}));
  EXPECT_TRUE(all_finite(std::vector<TypeParam>{}));
}

TYPED_TEST(AllFinite, IsFoundWhileTheValuesAreMadeToo) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam bad :
       {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    FiniteCheck<TypeParam> check;
    for (const TypeParam good : {Limits::max(), Limits::lowest(), -Limits::denorm_min()}) {
      check.see(good);
    }
    EXPECT_TRUE(check.holds());
    check.see(bad);
    check.see(0);
    EXPECT_FALSE(check.holds());
  }
}

}  // namespace
}  // namespace ballast::kernels
