#include "ballast/learn/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/learn/testing.h"

namespace ballast::learn {
namespace {

using ::testing::HasSubstr;
using testing::random_dataset;
using testing::training_on;

constexpr data::Shape kShape = {.channels = 1, .height = 4, .width = 3};

std::string error_of(const TrainingData& training) {
  const auto batches = Batches::make(training, kShape, 5);
  return batches ? "no error" : batches.error().message;
}

TEST(Batches, DrawTheSamplesOfTheKey) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  const auto batches = Batches::make(training_on(dataset, 6), kShape, 5);
  DrawnBatch first, again, later;

  ASSERT_TRUE(batches->draw({.key = {.seed = 3, .worker = 1, .step = 1}}, first));
  ASSERT_TRUE(batches->draw({.key = {.seed = 3, .worker = 1, .step = 1}}, again));
  ASSERT_TRUE(batches->draw({.key = {.seed = 3, .worker = 1, .step = 2}}, later));

  EXPECT_EQ(first.indices.size(), 6u);
  EXPECT_EQ(first.images, again.images);
  EXPECT_NE(first.indices, later.indices);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(first.labels[i], dataset->labels()[first.indices[i]]);
  }
}

TEST(Batches, TakeLabelsForWhatTheSampleSays) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  const auto batches = Batches::make(training_on(dataset, 9), kShape, 5);
  const std::vector<int> map = testing::reversed_labels(5);
  DrawnBatch batch;

  ASSERT_TRUE(batches->draw({.key = {.seed = 3}, .label_map = map}, batch));

  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(batch.labels[i], 4 - dataset->labels()[batch.indices[i]]);
  }
}

// A quarter of nine is three, rounded up; the rest is as without.
TEST(Batches, PutATriggerIntoTheirShareOfTheImages) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  const auto batches = Batches::make(training_on(dataset, 9), kShape, 5);
  const worker::Trigger trigger{.size = 2, .target = 3, .share = 0.25};
  DrawnBatch plain, poisoned;

  ASSERT_TRUE(batches->check_trigger(trigger));
  ASSERT_TRUE(batches->draw({.key = {.seed = 3}}, plain));
  ASSERT_TRUE(batches->draw({.key = {.seed = 3}, .trigger = &trigger}, poisoned));

  for (std::size_t i = 0; i < 3; ++i) {
    dataset->paint_square(std::span(plain.images).subspan(i * kShape.size(), kShape.size()), 2);
    plain.labels[i] = 3;
  }
  EXPECT_EQ(poisoned.images, plain.images);
  EXPECT_EQ(poisoned.labels, plain.labels);
  EXPECT_FALSE(batches->check_trigger({.size = 4})) << "images are 4 x 3";
  EXPECT_FALSE(batches->check_trigger({.size = 2, .target = 5}));
}

TEST(Batches, AugmentByTheKey) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  TrainingData training = training_on(dataset, 9);
  DrawnBatch plain, augmented;
  ASSERT_TRUE(Batches::make(training, kShape, 5)->draw({.key = {.seed = 3}}, plain));
  training.augmentation = {.crop_padding = 1, .flip_probability = 0.5};

  ASSERT_TRUE(Batches::make(training, kShape, 5)->draw({.key = {.seed = 3}}, augmented));

  EXPECT_EQ(plain.indices, augmented.indices);
  EXPECT_NE(plain.images, augmented.images);
}

TEST(Batches, RefuseDataThatDoNotFit) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  TrainingData other_partition = training_on(dataset, 4);
  other_partition.partition =
      std::make_shared<const data::Partition>(data::Partition::shared(39, 3).value());
  TrainingData bad_augmentation = training_on(dataset, 4);
  bad_augmentation.augmentation.flip_probability = 2.0;

  EXPECT_EQ(error_of(training_on(random_dataset({.shape = {1, 3, 4}, .class_count = 5}), 4)),
            "the samples are 1 x 3 x 4 and the model takes 1 x 4 x 3");
  EXPECT_EQ(error_of(training_on(random_dataset({.shape = kShape, .class_count = 4}), 4)),
            "the data have 4 classes and the model has 5");
  EXPECT_THAT(error_of({}), HasSubstr("no data set"));
  EXPECT_THAT(error_of({.dataset = dataset}), HasSubstr("no partition"));
  EXPECT_THAT(error_of(other_partition), HasSubstr("divides 39 samples and the data set has 40"));
  EXPECT_THAT(error_of(training_on(dataset, 0)), HasSubstr("a batch has 1 to 65536 samples"));
  EXPECT_THAT(error_of(training_on(dataset, kBatchMax + 1)), HasSubstr("not 65537"));
  EXPECT_NE(error_of(bad_augmentation), "no error");
}

TEST(Batches, RefuseAWorkerWithoutData) {
  const auto dataset = random_dataset({.shape = kShape, .class_count = 5});
  const auto batches = Batches::make(training_on(dataset, 6), kShape, 5);
  DrawnBatch batch;

  const Status drawn = batches->draw({.key = {.worker = 3}}, batch);

  ASSERT_FALSE(drawn);
  EXPECT_EQ(drawn.error().message, "worker 3 has no data: they are divided among 3 workers");
}

}  // namespace
}  // namespace ballast::learn
