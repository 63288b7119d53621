// The watches on runs that are worked out by hand: one coordinate, a few steps.

#include <gtest/gtest.h>

#include <cmath>

#include "ballast/verify/descent_watch.h"
#include "ballast/verify/least_squares.h"
#include "ballast/verify/query_watch.h"
#include "ballast/verify/steps.h"
#include "ballast/verify/synchronous_sgd.h"
#include "ballast/verify/trial.h"

namespace ballast::verify {
namespace {

using Numbers = std::vector<float>;

// f = x^2 / 2 on [-1/2, 3/2].
LeastSquares line() { return LeastSquares({.dim = 1}); }

TEST(DescentWatch, SeesNoGapInTheStepsOfTheTheorem) {
  const LeastSquares problem = line();
  DescentWatch watch(problem, 0.25);
  // w_1 = x_1 = 1, d = 1: w_2 = 1 - 0.25; x_2 = (w_1 + 2 w_2) / 3.
  const Numbers d = {1.0f}, w1 = {1.0f}, w2 = {0.75f}, x2 = {2.5f / 3.0f}, w3 = {0.25f};
  watch.on_step({.t = 1, .direction = d, .w = w1, .x = w1, .next_w = w2, .next_x = x2});
  watch.on_step({.t = 2, .direction = d, .w = w2, .x = x2, .next_w = w3, .next_x = w3});

  EXPECT_NEAR(watch.regret_gap(), 0.0, 1e-7);
  EXPECT_NEAR(watch.regret_above(), 0.0, 1e-7);
  EXPECT_NEAR(watch.anytime_gap(), 0.0, 1e-7);
  ASSERT_EQ(watch.errors().size(), 2u);
  EXPECT_NEAR(watch.errors()[1], 1.0 - 2.5 / 3.0, 1e-6);
}

TEST(DescentWatch, SeesAStepOfAnotherLength) {
  const LeastSquares problem = line();
  DescentWatch watch(problem, 0.25);
  const Numbers d = {1.0f}, w1 = {1.0f}, w2 = {0.875f};  // half of eta
  watch.on_step({.t = 1, .direction = d, .w = w1, .x = w1, .next_w = w2, .next_x = w2});

  // 0.875 - (1 - 0.875^2 - 0.125^2) / 0.5, over D^2 / 0.5 = 8.
  EXPECT_NEAR(watch.regret_gap(), (0.875 - 0.4375) / 8.0, 1e-7);
  EXPECT_NEAR(watch.regret_above(), (0.875 - 0.4375) / 8.0, 1e-7);
}

TEST(DescentWatch, SeesAnotherAverage) {
  const LeastSquares problem = line();
  DescentWatch watch(problem, 0.25);
  const Numbers d = {1.0f}, w1 = {1.0f}, w2 = {0.75f}, x2 = {0.875f};  // the plain mean
  watch.on_step({.t = 1, .direction = d, .w = w1, .x = w1, .next_w = w2, .next_x = x2});
  watch.on_step({.t = 2, .direction = d, .w = w2, .x = x2, .next_w = w2, .next_x = x2});

  // <grad f(x_2), alpha_{1:2} x_2 - alpha_2 w_2 - alpha_1 x_1> over 3 * f(x_1).
  EXPECT_NEAR(watch.anytime_gap(), 0.875 * (3.0 * 0.875 - 2.0 * 0.75 - 1.0) / 1.5, 1e-6);
}

TEST(QueryWatch, SharesAreLengthsOverTheirBounds) {
  QueryWatch::Share share;
  share.note(1.0, 4.0, 2.0);  // above everything possible: says nothing
  EXPECT_EQ(share.measured, 0.0);
  share.note(0.25, 0.5, 2.0);
  EXPECT_DOUBLE_EQ(share.measured, 0.5);
  EXPECT_DOUBLE_EQ(share.possible, 4.0);
}

class Copied final : public StepObserver {
 public:
  void on_step(const StepRecord& record) override {
    steps.push_back({record.direction[0], record.w[0], record.next_w[0], record.next_x[0]});
    times.push_back(record.t);
  }
  std::vector<Numbers> steps;
  std::vector<std::uint64_t> times;
};

// One worker, no noise: x_1 = 1, d_1 = 1, eta = 1 / (4 * 2).
TEST(Steps, AreToldAsTheServerTookThem) {
  LeastSquares problem = line();
  Copied copied;
  StepObserver* const watching[] = {&copied};
  ASSERT_TRUE(run_trial(problem, {.workers = {.honest = 1}, .updates = 2}, Components{},
                        {.steps = watching}));

  EXPECT_EQ(copied.times, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(copied.steps[0], (Numbers{1.0f, 1.0f, 0.875f, (1.0f + 2.0f * 0.875f) / 3.0f}));
  EXPECT_EQ(copied.steps[1][0], 1.0f);  // computed on x_1: the reply is the paper's
  EXPECT_FLOAT_EQ(copied.steps[1][2], 0.875f - 2.0f / 8.0f);
}

// Two rounds without noise: eta = 1/8, w_2 = 7/8, x_2 = 11/12, w_3 = 7/8 - 11/48.
TEST(SynchronousSgd, TakesTheStepsOfTheDefinition) {
  LeastSquares problem = line();

  const double excess =
      synchronous_excess(problem, {.workers = {.honest = 3}, .rounds = 2}).value();

  const double x2 = 11.0 / 12.0, w3 = 7.0 / 8.0 - x2 / 4.0, x3 = x2 + (w3 - x2) / 2.0;
  EXPECT_NEAR(excess, x3 * x3 / 2.0, 1e-6);
}

TEST(SynchronousSgd, RobustRuleDoesNotHeedTheFlippedRow) {
  LeastSquares problem = line();
  const SynchronousOptions calm{.workers = {.honest = 3}, .rounds = 4};
  SynchronousOptions attacked{
      .workers = {.honest = 3, .byzantine = 1}, .rule = "cwmed", .rounds = 4};

  EXPECT_NEAR(synchronous_excess(problem, attacked).value(),
              synchronous_excess(problem, calm).value(), 1e-7);
  attacked.rule = "mean";
  EXPECT_GT(synchronous_excess(problem, attacked).value(),
            1.1 * synchronous_excess(problem, calm).value());
}

}  // namespace
}  // namespace ballast::verify
