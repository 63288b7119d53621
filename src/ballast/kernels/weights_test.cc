#include "ballast/kernels/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ballast::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint64_t> units_of(std::vector<double> weights) {
  const auto made = Weights::make(weights);
  EXPECT_TRUE(made.has_value());
  return {made->units().begin(), made->units().end()};
}

TEST(Weights, KeepsWholeNumbers) {
  EXPECT_THAT(units_of({3, 6, 9}), ElementsAre(3, 6, 9));
  EXPECT_THAT(units_of({5}), ElementsAre(5));
  EXPECT_THAT(units_of({1, 1e9}), ElementsAre(1, 1000000000));
}

TEST(Weights, DividesLargeWholeNumbersByTheirCommonDivisor) {
  EXPECT_THAT(units_of({3e12, 6e12, 9e12}), ElementsAre(1, 2, 3));
}

TEST(Weights, KeepsBinaryFractionsExactly) {
  EXPECT_THAT(units_of({0.5, 0.25, 1.75}), ElementsAre(2, 1, 7));
  EXPECT_THAT(units_of({0x1.0p-1000, 0x1.8p-999}), ElementsAre(1, 3));
}

TEST(Weights, RoundsOtherNumbersToAPartInTwoToTheSixty) {
  const auto made = Weights::make(std::vector<double>{0.1, 0.2, 0.7});
  ASSERT_TRUE(made.has_value());
  EXPECT_NEAR(made->share(0), 0.1, 1e-15);
  EXPECT_NEAR(made->share(2), 0.7, 1e-15);
  EXPECT_FALSE(made->is_narrow());
}

TEST(Weights, SurvivesTheLargestAndSmallestNumbers) {
  const double largest = std::numeric_limits<double>::max();
  const auto made = Weights::make(std::vector<double>{largest, largest, 5e-324});
  ASSERT_TRUE(made.has_value());
  EXPECT_NEAR(made->share(0), 0.5, 1e-15);
  EXPECT_GE(made->units()[2], 1u);
}

TEST(Weights, RefusesWhatIsNotPositiveAndFinite) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const auto made = Weights::make(std::vector<double>{1.0, bad});
    ASSERT_FALSE(made.has_value()) << bad;
    EXPECT_THAT(made.error().message, HasSubstr("weight 1 is"));
  }
  EXPECT_FALSE(Weights::make({}).has_value());
}

TEST(Weights, IsUnchangedByAFailedAssignment) {
  Weights weights = Weights::equal(3);
  EXPECT_FALSE(weights.assign(std::vector<double>{1.0, -1.0}).has_value());
  EXPECT_EQ(weights, Weights::equal(3));
}

TEST(Weights, IsNarrowBelowTwoToTheThirtyOne) {
  EXPECT_TRUE(Weights::make(std::vector<double>{1, 2147483646})->is_narrow());
  EXPECT_FALSE(Weights::make(std::vector<double>{1, 2147483647})->is_narrow());
}

}  // namespace
}  // namespace ballast::kernels
