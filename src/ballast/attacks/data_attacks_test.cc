#include "ballast/attacks/data_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "ballast/worker/test_quadratic.h"
#include "ballast/worker/worker.h"

namespace ballast::attacks {
namespace {

using testing::ElementsAre;

TEST(LabelFlip, TakesYForTheLastClassMinusY) {
  EXPECT_THAT(make_label_flip()->label_map(10).value(), ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(make_label_flip()->label_map(2).value(), ElementsAre(1, 0));
}

TEST(LabelFlip, RefusesASourceWithoutLabels) {
  worker::Quadratic source({.centre = {0.0f}});
  const auto attack = make_label_flip();
  EXPECT_FALSE(worker::Worker::make({}, source, attack.get()).has_value());
}

// The source adds the label to its centre, so the gradient at 0 is -y, and -(9 - y) when flipped.
TEST(LabelFlip, FlipsWhatTheWorkerLearnsFromAndNothingElse) {
  worker::Quadratic source({.centre = {0.0f}, .class_count = 10});
  const auto attack = make_label_flip();
  const worker::WorkerOptions options{.seed = 5, .estimator = optim::SgdEstimator{}};
  auto honest = worker::Worker::make(options, source).value();
  auto flipped = worker::Worker::make(options, source, attack.get()).value();
  const std::vector<float> model = {0.0f};
  for (int k = 0; k < 20; ++k) {
    const float truth = honest.on_model({.values = model})->values[0];
    EXPECT_EQ(flipped.on_model({.values = model})->values[0], -9.0f - truth);
  }
}

TEST(BackDoor, HandsItsTriggerToTheSource) {
  worker::Quadratic source({.centre = {0.0f}, .class_count = 10});
  const auto attack = make_back_door({.size = 2, .target = 7, .share = 0.25});
  EXPECT_EQ(attack->trigger(), (worker::Trigger{.size = 2, .target = 7, .share = 0.25}));
  EXPECT_FALSE(attack->colludes());
  EXPECT_TRUE(attack->label_map(10)->empty());
  auto liar =
      worker::Worker::make({.seed = 5, .estimator = optim::SgdEstimator{}}, source, attack.get())
          .value();
  const std::vector<float> model = {0.0f};
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(liar.on_model({.values = model})->values[0], -7.0f) << "the label of the target";
  }
}

TEST(BackDoor, NeedsASourceThatTakesTriggers) {
  worker::Quadratic source({.centre = {0.0f}, .class_count = 7});
  const auto attack = make_back_door({.target = 7});
  const auto made = worker::Worker::make({}, source, attack.get());
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("trigger"));
}

}  // namespace
}  // namespace ballast::attacks
