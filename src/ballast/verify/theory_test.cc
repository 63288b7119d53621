// Against numbers worked out by hand.

#include "ballast/verify/theory.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ballast::verify {
namespace {

std::vector<sim::Arrival> arrivals_by(std::initializer_list<std::uint32_t> workers) {
  std::vector<sim::Arrival> arrivals;
  for (const std::uint32_t worker : workers) arrivals.push_back({.worker = worker});
  return arrivals;
}

TEST(Theory, ConstantsAreThoseOfTableOne) {
  EXPECT_DOUBLE_EQ(median_constant(0.0), 1.0);
  EXPECT_NEAR(median_constant(0.4), 9.0, 1e-12);
  EXPECT_NEAR(ctma_constant(1.0 / 3.0, 4.0), 100.0, 1e-12);
}

TEST(Theory, DelaysCountFromTheModelThatARowWasComputedOn) {
  // Worker 0 sends rows made on x_1, x_1, x_2, x_4; worker 1 at t = 3 one made on x_1.
  const Delays delays = delays_of(arrivals_by({0, 0, 1, 0, 0}), {.honest = 2});

  EXPECT_EQ(delays.longest, (std::vector<double>{0.0, 1.0, 2.0, 3.0, 4.0}));
  EXPECT_DOUBLE_EQ(delays.mean_longest(), 2.0);
  EXPECT_DOUBLE_EQ(delays.spread, 1.5);  // worker 0 waits 2 at t = 4, its third: the mean is 4/3
}

TEST(Theory, RoundRobinHasConstantDelays) {
  const Delays delays = delays_of(arrivals_by({0, 1, 0, 1, 0, 1}), {.honest = 2});

  EXPECT_DOUBLE_EQ(delays.longest.back(), 3.0);  // worker 0's row at t = 6 was made on x_3
  EXPECT_DOUBLE_EQ(delays.spread, 4.0 / 3.0);    // at t = 3, worker 0's second
}

TEST(Theory, VarianceIsThatOfTheTheorem) {
  const Constants constants{.deviation = 3.0, .smoothness_deviation = 0.5, .diameter = 2.0};

  EXPECT_DOUBLE_EQ(estimator_variance(constants, 1.0), 18.0 + 32.0);
}

TEST(Theory, BoundsAreThoseOfTheProofs) {
  const BoundOptions options{.constants = {.smoothness = 1.0, .deviation = 1.0, .diameter = 2.0},
                             .rule_constant = 0.5,
                             .worker_count = 3,
                             .eta = 0.125,
                             .kept = 0.5};
  const Delays delays{.longest = {0.0, 1.0}};

  // (12 * 0.5 * 3 + 4) * 2 / (0.5 t) + (384 * 0.5 + 64) * (tau * 2 / t)^2
  EXPECT_DOUBLE_EQ(aggregate_error_bound(options, delays, 1), 88.0);
  EXPECT_DOUBLE_EQ(aggregate_error_bound(options, delays, 2), 44.0 + 256.0);
  // 4 / (2 * 3) * (4 / 0.25 + 2 * (sqrt(88) + 2 sqrt(300)))
  EXPECT_NEAR(excess_bound(options, delays),
              4.0 / 6.0 * (16.0 + 2.0 * (std::sqrt(88.0) + 2.0 * std::sqrt(300.0))), 1e-9);
}

TEST(Theory, ExcessBoundHasTheGradientOfTheOptimum) {
  const Constants constants{.diameter = 2.0, .optimum_gradient = 3.0};
  const std::vector<double> errors = {1.0, 0.5};

  // 4 / (2 * 3) * (4 / 0.25 + 2 * 3 * 2 + 2 * (1 + 2 * 0.5))
  EXPECT_NEAR(excess_bound_by_errors(constants, 0.125, errors), 4.0 / 6.0 * 32.0, 1e-12);
}

TEST(Theory, HonestWeightThatIsKnownReplacesItsLowerBound) {
  BoundOptions options{.constants = {.deviation = 1.0}, .worker_count = 1, .kept = 0.5};
  const Delays delays{.longest = {0.0, 0.0}};

  EXPECT_DOUBLE_EQ(aggregate_error_bound(options, delays, 2), 8.0);
  options.honest_weight = {1.0, 4.0};
  EXPECT_DOUBLE_EQ(aggregate_error_bound(options, delays, 2), 2.0);
}

}  // namespace
}  // namespace ballast::verify
