#include "ballast/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ballast::optim {
namespace {

TEST(RateSchedule, ConstantIsOneAtEveryStep) {
  EXPECT_EQ(constant_schedule()(1), 1.0);
  EXPECT_EQ(constant_schedule()(1'000'000), 1.0);
}

TEST(RateSchedule, StepDecayDropsAfterEachBoundary) {
  const RateSchedule schedule = step_decay({.factor = 0.5, .after = {10, 20}}).value();
  EXPECT_EQ(schedule(1), 1.0);
  EXPECT_EQ(schedule(10), 1.0);
  EXPECT_EQ(schedule(11), 0.5);
  EXPECT_EQ(schedule(20), 0.5);
  EXPECT_EQ(schedule(21), 0.25);
}

TEST(RateSchedule, StepDecayRefusesAFactorThatIsNotPositiveAndFinite) {
  for (const double bad : {0.0, -0.5, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(step_decay({.factor = bad, .after = {1}}).has_value()) << bad;
  }
}

TEST(RateSchedule, InverseSqrtHalvesAtTheFourthStep) {
  EXPECT_EQ(inverse_sqrt_schedule()(1), 1.0);
  EXPECT_EQ(inverse_sqrt_schedule()(4), 0.5);
}

}  // namespace
}  // namespace ballast::optim
