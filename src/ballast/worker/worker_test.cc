#include "ballast/worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ballast/worker/test_quadratic.h"

namespace ballast::worker {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

const std::vector<float> kFirstModel = {1.0f, 2.0f};
const std::vector<float> kSecondModel = {0.5f, -1.0f};
const optim::EstimatorOptions kHarmonic = optim::Mu2Estimator{.beta = optim::HarmonicBeta{}};

QuadraticOptions quadratic(double noise = 0.0) { return {.centre = {0.5f, 0.0f}, .noise = noise}; }

std::vector<float> values_of(const Result<WorkerUpdate>& update) {
  EXPECT_TRUE(update.has_value());
  return {update->values.begin(), update->values.end()};
}

// The gradient that a worker's source gives for one of its updates.
std::vector<float> gradient_at(const std::vector<float>& model, const SampleKey& key,
                               double noise) {
  Quadratic source(quadratic(noise));
  std::vector<float> out(model.size());
  EXPECT_TRUE(source.gradient(model, {.key = key}, out, {}).has_value());
  return out;
}

TEST(Worker, SendsTheGradientFirst) {
  Quadratic source(quadratic());
  auto worker = Worker::make({.seed = 3, .id = 7}, source).value();

  const auto update = worker.on_model({.version = 9, .values = kFirstModel});

  EXPECT_THAT(values_of(update), ElementsAre(0.5f, 2.0f));
  EXPECT_EQ(update->sequence, 1u);
  EXPECT_EQ(update->version, 9u);
  EXPECT_DOUBLE_EQ(update->loss, 0.125 + 2.0);
  EXPECT_THAT(source.samples, ElementsAre(SampleKey{.seed = 3, .worker = 7, .step = 1}));
}

TEST(Worker, TakesBothGradientsOnOneSampleAtTheTwoModelsItReceived) {
  Quadratic source(quadratic(0.5));
  auto worker = Worker::make({.seed = 3, .id = 7, .estimator = kHarmonic}, source).value();
  ASSERT_TRUE(worker.on_model({.version = 0, .values = kFirstModel}).has_value());

  const auto second = values_of(worker.on_model({.version = 5, .values = kSecondModel}));

  const SampleKey first_key{.seed = 3, .worker = 7, .step = 1};
  const SampleKey second_key{.seed = 3, .worker = 7, .step = 2};
  EXPECT_THAT(source.samples, ElementsAre(first_key, second_key, second_key));
  EXPECT_THAT(source.models, ElementsAre(kFirstModel, kSecondModel, kFirstModel));
  const auto before = gradient_at(kFirstModel, first_key, 0.5);
  const auto now = gradient_at(kSecondModel, second_key, 0.5);
  const auto then = gradient_at(kFirstModel, second_key, 0.5);
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_THAT(second[j], FloatEq(now[j] + 0.5f * (before[j] - then[j])));
  }
}

TEST(Worker, TakesOneGradientForMomentumAndSgd) {
  for (const optim::EstimatorOptions& estimator :
       {optim::EstimatorOptions{optim::MomentumEstimator{}},
        optim::EstimatorOptions{optim::SgdEstimator{}}}) {
    Quadratic source(quadratic());
    auto worker = Worker::make({.estimator = estimator}, source).value();
    for (int k = 0; k < 3; ++k) values_of(worker.on_model({.values = kFirstModel}));
    EXPECT_EQ(source.samples.size(), 3u);
  }
}

TEST(Worker, MovesItsStatisticsOncePerUpdate) {
  QuadraticOptions options = quadratic();
  options.has_statistics = true;
  Quadratic source(options);
  auto worker = Worker::make({}, source).value();
  for (const float expected : {1.0f, 2.0f, 3.0f}) {
    EXPECT_THAT(worker.on_model({.values = kFirstModel})->statistics, ElementsAre(expected));
  }
  EXPECT_EQ(source.samples.size(), 5u) << "two updates took a second gradient";
}

TEST(Worker, RefusesAModelOfTheWrongSizeOrNotFinite) {
  Quadratic source(quadratic());
  auto worker = Worker::make({}, source).value();
  const std::vector<float> too_long(3), not_finite = {1.0f, std::nanf("")};

  const auto wrong_size = worker.on_model({.version = 4, .values = too_long});
  const auto wrong_value = worker.on_model({.version = 5, .values = not_finite});

  ASSERT_FALSE(wrong_size.has_value());
  EXPECT_THAT(wrong_size.error().message, HasSubstr("model 4 has 3 values, not 2"));
  ASSERT_FALSE(wrong_value.has_value());
  EXPECT_THAT(wrong_value.error().message, HasSubstr("model 5 is not finite"));
}

// The second and the third call of the source belong to the second update.
TEST(Worker, IsUnchangedByAFailingSourceAndDrawsTheSameSampleAgain) {
  for (const std::size_t failing_call : {2, 3}) {
    Quadratic source(quadratic(0.5));
    auto worker = Worker::make({.seed = 1}, source).value();
    values_of(worker.on_model({.values = kFirstModel}));
    const WorkerState before = worker.state();
    source.fail_at_call = failing_call;

    const auto failed = worker.on_model({.values = kSecondModel});

    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, ErrorCode::kIo);
    EXPECT_EQ(worker.state(), before);
    EXPECT_EQ(worker.on_model({.values = kSecondModel})->sequence, 2u);
    EXPECT_EQ(source.samples.back().step, 2u);
  }
}

// The gradient is the distance between the ends of the floats, twice as long as the longest float.
TEST(Worker, IsUnchangedByAnUpdateThatIsNotFinite) {
  const float largest = std::numeric_limits<float>::max();
  Quadratic source({.centre = {-largest, 0.0f}});
  auto worker = Worker::make({}, source).value();
  values_of(worker.on_model({.values = kFirstModel}));
  const WorkerState before = worker.state();

  const auto refused = worker.on_model({.values = std::vector<float>{largest, 0.0f}});

  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("update 2 is not finite"));
  EXPECT_EQ(worker.state(), before);
  EXPECT_EQ(worker.on_model({.values = kFirstModel})->sequence, 2u);
}

TEST(Worker, GoesOnBitForBitFromARestoredState) {
  QuadraticOptions options = quadratic(0.5);
  options.has_statistics = true;
  Quadratic source(options);
  auto original = Worker::make({.seed = 8, .id = 2}, source).value();
  auto copy = Worker::make({.seed = 8, .id = 2}, source).value();
  for (int k = 0; k < 3; ++k) values_of(original.on_model({.values = kFirstModel}));

  ASSERT_TRUE(copy.restore(original.state()).has_value());

  EXPECT_EQ(values_of(copy.on_model({.values = kSecondModel})),
            values_of(original.on_model({.values = kSecondModel})));
  EXPECT_EQ(copy.state(), original.state());
}

TEST(Worker, RefusesAStateThatDoesNotFit) {
  Quadratic source(quadratic());
  auto worker = Worker::make({}, source).value();
  values_of(worker.on_model({.values = kFirstModel}));
  const WorkerState before = worker.state();
  WorkerState no_model = before, not_finite = before, other_statistics = before,
              other_size = before;
  no_model.previous_model.clear();
  not_finite.previous_model[0] = HUGE_VALF;
  other_statistics.statistics.push_back(0.0f);
  other_size.estimator.direction.pop_back();

  for (const WorkerState& bad : {no_model, not_finite, other_statistics, other_size}) {
    EXPECT_FALSE(worker.restore(bad).has_value());
    EXPECT_EQ(worker.state(), before);
  }
}

// Doubles the update, and takes every label for the given ones.
class Doubling final : public Behaviour {
 public:
  explicit Doubling(std::vector<int> labels) : labels_(std::move(labels)) {}
  Result<std::vector<int>> label_map(int) const override { return labels_; }
  void change_update(const SampleKey& key, std::span<float> update) const override {
    EXPECT_EQ(key.worker, 7u);
    for (float& value : update) value *= 2.0f;
  }

 private:
  std::vector<int> labels_;
};

TEST(Worker, ChangesOnlyWhatItSendsByItsBehaviour) {
  Quadratic source(quadratic(0.5));
  const Doubling doubling({});
  auto honest = Worker::make({.id = 7}, source).value();
  auto doubled = Worker::make({.id = 7}, source, &doubling).value();
  for (const auto& model : {kFirstModel, kSecondModel, kFirstModel}) {
    auto expected = values_of(honest.on_model({.values = model}));
    for (float& value : expected) value *= 2.0f;
    EXPECT_EQ(values_of(doubled.on_model({.values = model})), expected);
  }
  EXPECT_EQ(doubled.state(), honest.state());
}

// The label is added to the centre (0.5, 0), and the map takes every class for 2.
TEST(Worker, HandsTheLabelMapToItsSource) {
  Quadratic source({.centre = {0.5f, 0.0f}, .class_count = 3});
  const Doubling mapping({2, 2, 2});
  auto worker = Worker::make({.id = 7}, source, &mapping).value();
  EXPECT_THAT(values_of(worker.on_model({.values = kFirstModel})),
              ElementsAre(2.0f * (1.0f - 2.5f), 2.0f * (2.0f - 2.0f)));
}

TEST(Worker, RefusesALabelMapThatDoesNotFitTheSource) {
  Quadratic source({.centre = {0.5f, 0.0f}, .class_count = 2});
  for (const auto& labels :
       {std::vector<int>{0}, std::vector<int>{0, 2}, std::vector<int>{-1, 0}}) {
    const Doubling bad(labels);
    EXPECT_FALSE(Worker::make({}, source, &bad).has_value());
  }
}

}  // namespace
}  // namespace ballast::worker
