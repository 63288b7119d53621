#include "ballast/assembly/materials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <vector>

#include "ballast/data/temporary_folder.h"
#include "ballast/files/npy.h"

namespace ballast::assembly {
namespace {

// Sixty samples that can be told apart by their one feature.
RunSpec run_with_own_data(const std::filesystem::path& folder) {
  std::vector<float> features(60);
  std::iota(features.begin(), features.end(), 0.0F);
  std::vector<std::int64_t> labels(60);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 3);
  EXPECT_TRUE(files::write_npy(folder / "x.npy", {{60, 1}, std::span<const float>(features)}));
  EXPECT_TRUE(files::write_npy(folder / "y.npy", {{60}, std::span<const std::int64_t>(labels)}));
  RunSpec run;
  run.data = "files";
  run.train_images = run.test_images = folder / "x.npy";
  run.train_labels = run.test_labels = folder / "y.npy";
  return resolve(run);
}

std::set<float> features_of(const data::Dataset& dataset) {
  std::vector<std::uint32_t> all(dataset.size());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<float> features(dataset.size());
  std::vector<int> labels(dataset.size());
  dataset.fill_batch(all, features, labels);
  return {features.begin(), features.end()};
}

TEST(Materials, HoldsSamplesOutOfTheTrainingSetToTestOn) {
  const auto folder = data::TemporaryFolder::create(std::filesystem::temp_directory_path()).value();
  RunSpec run = run_with_own_data(folder.path());
  Materials materials;
  const auto whole = materials.get(run);
  run.validation_samples = 20;

  const auto split = materials.get(run);

  ASSERT_TRUE(whole.has_value() && split.has_value());
  EXPECT_EQ(whole->data.train->size(), 60u);
  EXPECT_EQ(whole->data.test->size(), 60u);
  const auto train = features_of(*split->data.train), test = features_of(*split->data.test);
  EXPECT_EQ(train.size(), 40u);
  EXPECT_EQ(test.size(), 20u);
  EXPECT_TRUE(std::ranges::none_of(test, [&](float value) { return train.contains(value); }));
  // The same for whoever asks.
  Materials others;
  EXPECT_EQ(features_of(*others.get(run)->data.test), test);
}

TEST(Materials, RefusesToHoldEverythingOut) {
  const auto folder = data::TemporaryFolder::create(std::filesystem::temp_directory_path()).value();
  RunSpec run = run_with_own_data(folder.path());
  run.validation_samples = 60;
  Materials materials;

  EXPECT_EQ(materials.get(run).error().message,
            "validation_samples = 60: the training set has 60 samples");
  // And again: the failure left nothing behind.
  EXPECT_FALSE(materials.get(run).has_value());
}

}  // namespace
}  // namespace ballast::assembly
