#include "ballast/attacks/statistics_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ballast/attacks/timing_attacks.h"
#include "ballast/worker/test_quadratic.h"
#include "ballast/worker/worker.h"

namespace ballast::attacks {
namespace {

using testing::ElementsAre;

constexpr worker::WorkerOptions kOptions{.seed = 5, .estimator = optim::SgdEstimator{}};

// The statistic of this source counts the samples, so it is 1, 2, 3, ... of an honest worker.
TEST(BatchNorm, LiesAboutTheStatisticsAndNothingElse) {
  const worker::QuadraticOptions quadratic{.centre = {1.0f}, .noise = 0.3, .has_statistics = true};
  worker::Quadratic one(quadratic), two(quadratic);
  const auto attack = make_batch_norm(-100.0);
  auto honest = worker::Worker::make(kOptions, one).value();
  auto liar = worker::Worker::make(kOptions, two, attack.get()).value();
  const std::vector<float> model = {0.0f};
  for (int k = 1; k <= 3; ++k) {
    const auto truth = honest.on_model({.values = model}).value();
    const auto lie = liar.on_model({.values = model}).value();
    EXPECT_EQ(lie.values[0], truth.values[0]);
    EXPECT_THAT(truth.statistics, ElementsAre(static_cast<float>(k)));
    EXPECT_THAT(lie.statistics, ElementsAre(static_cast<float>(-100 * k)));
    EXPECT_EQ(liar.state(), honest.state()) << "it goes on from its own";
    EXPECT_THAT(liar.last_update(0, 0.0).statistics, ElementsAre(static_cast<float>(-100 * k)));
  }
}

TEST(BatchNorm, StaysFinite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::vector<float> statistics = {kLargest, -kLargest, 0.0f};
  make_batch_norm(1e300)->change_statistics(statistics);
  EXPECT_THAT(statistics, ElementsAre(kLargest, -kLargest, 0.0f));
}

TEST(BatchNorm, NeedsStatistics) {
  worker::Quadratic source({.centre = {1.0f}});
  const auto attack = make_ambush(make_batch_norm(100.0), 0);
  const auto made = worker::Worker::make(kOptions, source, attack.get());
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("running statistics"));
}

}  // namespace
}  // namespace ballast::attacks
