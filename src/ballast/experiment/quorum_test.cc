// Runs whose weight policy waits for workers that have not sent yet.

#include <gtest/gtest.h>

#include <memory>

#include "ballast/experiment/run.h"
#include "ballast/learn/registry.h"

namespace ballast::experiment {
namespace {

std::shared_ptr<const data::Dataset> black_images(const data::Shape& shape) {
  constexpr std::size_t kSamples = 20;
  std::vector<int> labels(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) labels[i] = static_cast<int>(i % 10);
  auto dataset = data::Dataset::from_pixels(
      shape, std::vector<std::uint8_t>(kSamples * shape.size()), std::move(labels), 10);
  return std::make_shared<const data::Dataset>(std::move(*dataset));
}

// Eight of seventeen hold less than 0.48 only if all seventeen are there.
TEST(Quorum, ARunIsEvaluatedBeforeItIsReached) {
  const data::Shape shape{.channels = 1, .height = 28, .width = 28};
  PlannedRun planned{
      .run = assembly::RunSpec(), .seed = 1, .name = "run", .panel = "", .curve = ""};
  planned.run.model = "mnist-cnn";
  planned.run.workers = 17;
  planned.run.byzantine = 8;
  planned.run.weights = "f-cap(8, 0.48)";
  planned.run.updates = 6;
  planned.run.evaluate_every = 3;
  auto model = learn::make_model({.name = "mnist-cnn", .input = shape, .class_count = 10});
  ASSERT_TRUE(model.has_value());
  const auto images = black_images(shape);

  const auto finished = run_one(planned, {.data = {images, images, {}}, .model = *model});

  ASSERT_TRUE(finished.has_value()) << finished.error().message;
  EXPECT_EQ(finished->record.status, records::RunStatus::kFinished);
  EXPECT_EQ(finished->record.evaluations.size(), 2u);
  EXPECT_EQ(finished->model, (*model)->initial_parameters(planned.seed));
  EXPECT_EQ(finished->statistics, (*model)->initial_statistics());
}

}  // namespace
}  // namespace ballast::experiment
