#include "ballast/optim/estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::optim {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;

const EstimatorOptions kHarmonic = Mu2Estimator{.beta = HarmonicBeta{}};
const EstimatorOptions kConstant = Mu2Estimator{.beta = ConstantBeta{0.25}};

// The next update from a gradient and, where it is needed, the previous model's gradient.
double next(Estimator<double>& estimator, double gradient, double previous = 0.0) {
  const auto made = estimator.update({&gradient, 1}, {&previous, 1});
  EXPECT_TRUE(made.has_value());
  return made ? made->front() : std::nan("");
}

// g = 4, 3, 2 and g_prev = -, 5, 1 with beta = 1, 1/2, 1/3:
//   d_1 = 4,   d_2 = 3 + 1/2 (4 - 5) = 2.5,   d_3 = 2 + 2/3 (2.5 - 1) = 3.
TEST(Estimator, FollowsMu2WithHarmonicBetaForThreeUpdates) {
  auto estimator = Estimator<double>::make(kHarmonic, 1).value();
  EXPECT_THAT(next(estimator, 4.0), DoubleEq(4.0));
  EXPECT_THAT(next(estimator, 3.0, 5.0), DoubleEq(2.5));
  EXPECT_THAT(next(estimator, 2.0, 1.0), DoubleEq(3.0));
  EXPECT_EQ(estimator.updates(), 3u);
}

// The same gradients with beta = 1/4:
//   d_1 = 4,   d_2 = 3 + 3/4 (4 - 5) = 2.25,   d_3 = 2 + 3/4 (2.25 - 1) = 2.9375.
TEST(Estimator, FollowsMu2WithConstantBetaForThreeUpdates) {
  auto estimator = Estimator<double>::make(kConstant, 1).value();
  EXPECT_THAT(next(estimator, 4.0), DoubleEq(4.0));
  EXPECT_THAT(next(estimator, 3.0, 5.0), DoubleEq(2.25));
  EXPECT_THAT(next(estimator, 2.0, 1.0), DoubleEq(2.9375));
}

// d_1 = 4,   d_2 = 0.9 * 4 + 0.1 * 3 = 3.9,   d_3 = 0.9 * 3.9 + 0.1 * 2 = 3.71.
TEST(Estimator, FollowsMomentumForThreeUpdates) {
  auto estimator = Estimator<double>::make(MomentumEstimator{.b = 0.9}, 1).value();
  EXPECT_THAT(next(estimator, 4.0), DoubleEq(4.0));
  EXPECT_THAT(next(estimator, 3.0), DoubleEq(3.9));
  EXPECT_THAT(next(estimator, 2.0), DoubleEq(3.71));
}

TEST(Estimator, SendsTheGradientItselfForSgd) {
  auto estimator = Estimator<double>::make(SgdEstimator{}, 1).value();
  for (const double gradient : {4.0, -3.0, 2.0}) EXPECT_EQ(next(estimator, gradient), gradient);
}

TEST(Estimator, AsksForThePreviousGradientOnlyWhereItCounts) {
  const EstimatorOptions restarting = Mu2Estimator{.beta = ConstantBeta{1.0}};
  for (const auto& [options, is_needed] :
       std::vector<std::pair<EstimatorOptions, bool>>{{kHarmonic, true},
                                                      {kConstant, true},
                                                      {restarting, false},
                                                      {MomentumEstimator{}, false},
                                                      {SgdEstimator{}, false}}) {
    auto estimator = Estimator<double>::make(options, 1).value();
    EXPECT_FALSE(estimator.needs_previous_gradient()) << "there is no previous model yet";
    next(estimator, 1.0);
    EXPECT_EQ(estimator.needs_previous_gradient(), is_needed);
  }
}

TEST(Estimator, TellsItsFormulaToWhoeverKeepsDirectionsElsewhere) {
  EXPECT_EQ(correction_at(kHarmonic, 1).keep, 0.0);
  EXPECT_EQ(correction_at(kHarmonic, 4).keep, 0.75);
  EXPECT_EQ(correction_at(Mu2Estimator{.beta = ConstantBeta{0.25}}, 7).keep, 0.75);
  EXPECT_EQ(correction_at(MomentumEstimator{.b = 0.5}, 2).keep, 0.5);
  EXPECT_EQ(correction_at(SgdEstimator{}, 2).keep, 0.0);
  EXPECT_TRUE(correction_at(kHarmonic, 2).needs_previous_gradient);
  EXPECT_FALSE(correction_at(MomentumEstimator{}, 2).needs_previous_gradient);
}

TEST(Estimator, RefusesAnUpdateThatIsNotFiniteAndStaysAsItWas) {
  auto estimator = Estimator<float>::make(kConstant, 2).value();
  const std::vector<float> fine = {1.0f, 2.0f};
  ASSERT_TRUE(estimator.update(fine, fine).has_value());
  const auto before = estimator.state();
  const float largest = std::numeric_limits<float>::max();

  for (const auto& [gradient, previous] : std::vector<std::pair<float, float>>{
           {std::nanf(""), 0.0f}, {0.0f, HUGE_VALF}, {largest, -largest}}) {
    const std::vector<float> now = {1.0f, gradient}, then = {1.0f, previous};
    const auto refused = estimator.update(now, then);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("update 2"));
    EXPECT_EQ(estimator.state(), before);
  }
}

TEST(Estimator, GoesOnBitForBitFromARestoredState) {
  for (const EstimatorOptions& options :
       {kHarmonic, kConstant, EstimatorOptions{MomentumEstimator{}}}) {
    auto original = Estimator<double>::make(options, 1).value();
    auto copy = Estimator<double>::make(options, 1).value();
    next(original, 0.1);
    next(original, 0.7, 0.3);

    ASSERT_TRUE(copy.restore(original.state()).has_value());

    EXPECT_EQ(next(copy, 0.9, 0.2), next(original, 0.9, 0.2));
    EXPECT_EQ(copy.state(), original.state());
  }
}

TEST(Estimator, RefusesAStateOfTheWrongSizeOrNotFinite) {
  auto estimator = Estimator<float>::make(SgdEstimator{}, 2).value();
  EXPECT_FALSE(estimator.restore({.updates = 1, .direction = {1.0f}}).has_value());
  EXPECT_FALSE(estimator.restore({.updates = 1, .direction = {1.0f, HUGE_VALF}}).has_value());
  EXPECT_EQ(estimator.updates(), 0u);
}

TEST(Estimator, RefusesOptionsOutOfRange) {
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    EXPECT_FALSE(Estimator<float>::make(Mu2Estimator{ConstantBeta{bad}}, 1).has_value()) << bad;
  }
  for (const double bad : {-0.1, 1.0, std::nan("")}) {
    EXPECT_FALSE(Estimator<float>::make(MomentumEstimator{bad}, 1).has_value()) << bad;
  }
  EXPECT_FALSE(Estimator<float>::make(SgdEstimator{}, 0).has_value());
}

TEST(EstimatorDeathTest, StopsOnAGradientOfTheWrongSize) {
  auto estimator = Estimator<float>::make(SgdEstimator{}, 2).value();
  EXPECT_DEATH((void)estimator.update(std::vector<float>{1.0f}, {}), "wrong size");
}

}  // namespace
}  // namespace ballast::optim
