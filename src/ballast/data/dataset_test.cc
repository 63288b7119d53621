#include "ballast/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace ballast::data {
namespace {

constexpr Shape kSmall{.channels = 2, .height = 3, .width = 4};

// Three samples of 2 x 3 x 4 pixels 0, 1, 2, ... with labels 0, 1, 2.
Dataset small_dataset() {
  std::vector<std::uint8_t> pixels(3 * kSmall.size());
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  return Dataset::from_pixels(kSmall, pixels, {0, 1, 2}, 3, {{0.5f, 0.25f}, {0.5f, 2.0f}}).value();
}

std::vector<float> images_of(const Dataset& dataset, std::vector<std::uint32_t> indices,
                             const Augmentation& augmentation, const BatchKey& key) {
  std::vector<float> images(indices.size() * dataset.shape().size());
  std::vector<int> labels(indices.size());
  dataset.fill_batch(indices, images, labels, augmentation, key);
  return images;
}

// The slow twin: pads a copy of the image with black, cuts the window out, mirrors it.
std::vector<float> augment_plainly(const std::vector<float>& image, const std::vector<float>& black,
                                   int padding, const Placement& placement) {
  const int height = kSmall.height, width = kSmall.width;
  const int padded_width = width + 2 * padding, padded_height = height + 2 * padding;
  std::vector<float> out;
  for (int c = 0; c < static_cast<int>(kSmall.channels); ++c) {
    std::vector<float> padded(static_cast<std::size_t>(padded_height * padded_width),
                              black[static_cast<std::size_t>(c)]);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        padded[static_cast<std::size_t>((y + padding) * padded_width + x + padding)] =
            image[static_cast<std::size_t>((c * height + y) * width + x)];
      }
    }
    for (int y = 0; y < height; ++y) {
      std::vector<float> row;
      for (int x = 0; x < width; ++x) {
        row.push_back(padded[static_cast<std::size_t>(
            (y + padding + placement.shift_y) * padded_width + x + padding + placement.shift_x)]);
      }
      if (placement.is_mirrored) std::reverse(row.begin(), row.end());
      out.insert(out.end(), row.begin(), row.end());
    }
  }
  return out;
}

TEST(Dataset, NormalisesPixelsPerChannel) {
  const Dataset dataset = small_dataset();
  std::vector<float> images(2 * kSmall.size());
  std::vector<int> labels(2);

  dataset.fill_batch(std::vector<std::uint32_t>{2, 0}, images, labels);

  EXPECT_EQ(labels, (std::vector<int>{2, 0}));
  EXPECT_EQ(images[0], (48.0f / 255.0f - 0.5f) / 0.5f);
  EXPECT_EQ(images[12], (60.0f / 255.0f - 0.25f) / 2.0f);
  EXPECT_EQ(images[24], (0.0f - 0.5f) / 0.5f);
  EXPECT_EQ(images[47], (23.0f / 255.0f - 0.25f) / 2.0f);
}

TEST(Dataset, KeepsFeaturesAsTheyAreWithoutNormalization) {
  const std::vector<float> features = {1.5f, -2.0f, 3e30f, 0.0f, 5.0f, -0.125f};
  const Dataset dataset = Dataset::from_features({.channels = 3}, features, {4, 0}, 5).value();
  std::vector<float> images(6);
  std::vector<int> labels(2);

  dataset.fill_batch(std::vector<std::uint32_t>{0, 1}, images, labels);

  EXPECT_EQ(images, features);
  EXPECT_EQ(labels, (std::vector<int>{4, 0}));
  EXPECT_EQ(dataset.size(), 2u);
  EXPECT_EQ(dataset.class_count(), 5);
}

TEST(Dataset, NormalisesEachFeatureByItsOwnNumbers) {
  const Dataset dataset =
      Dataset::from_features({.channels = 2}, {3.0f, 10.0f}, {0}, 1, {{1.0f, 2.0f}, {4.0f, 8.0f}})
          .value();
  std::vector<float> images(2);
  std::vector<int> labels(1);

  dataset.fill_batch(std::vector<std::uint32_t>{0}, images, labels);

  EXPECT_EQ(images, (std::vector<float>{0.5f, 1.0f}));
}

TEST(Dataset, RefusesWhatDoesNotFitTogether) {
  const std::vector<std::uint8_t> pixels(12);
  const Shape shape{.channels = 1, .height = 2, .width = 3};
  EXPECT_TRUE(Dataset::from_pixels(shape, pixels, {0, 1}, 2));

  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {}, 2)) << "no samples";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0, 1, 1}, 2)) << "too few pixels";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0}, 2)) << "too many pixels";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0, 2}, 2)) << "label too large";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0, -1}, 2)) << "label negative";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0, 0}, 0)) << "no classes";
  EXPECT_FALSE(Dataset::from_pixels(shape, pixels, {0, 0}, kClassCountMax + 1));
  EXPECT_FALSE(Dataset::from_pixels({.channels = 0}, pixels, {0, 0}, 1)) << "empty extent";
  EXPECT_FALSE(Dataset::from_pixels({.channels = kExtentMax + 1}, pixels, {0, 0}, 1));
}

TEST(Dataset, RefusesBadNormalization) {
  const auto with = [](Normalization normalization) {
    return Dataset::from_pixels({.channels = 1, .width = 2}, {1, 2}, {0}, 1,
                                std::move(normalization));
  };
  EXPECT_TRUE(with({{0.5f}, {0.5f}}));
  EXPECT_FALSE(with({{0.5f, 0.5f}, {0.5f, 0.5f}})) << "two channels for one";
  EXPECT_FALSE(with({{0.5f}, {}})) << "no deviation";
  EXPECT_FALSE(with({{0.5f}, {0.0f}})) << "zero deviation";
  EXPECT_FALSE(with({{std::numeric_limits<float>::infinity()}, {1.0f}}));
}

TEST(Dataset, RefusesFeaturesThatAreNotFinite) {
  const auto with = [](float value, float deviation) {
    return Dataset::from_features({.channels = 2}, {1.0f, value}, {0}, 1,
                                  {{0.0f, 0.0f}, {1.0f, deviation}});
  };
  EXPECT_TRUE(with(3e38f, 1.0f));
  EXPECT_FALSE(with(std::numeric_limits<float>::quiet_NaN(), 1.0f));
  EXPECT_FALSE(with(std::numeric_limits<float>::infinity(), 1.0f));
  EXPECT_FALSE(with(3e38f, 0.1f)) << "overflows when normalised";
}

TEST(Dataset, AugmentsLikeThePlainReference) {
  constexpr Augmentation kAugmentation{.crop_padding = 2, .flip_probability = 0.5};
  const Dataset dataset = small_dataset();
  const std::vector<float> black = {(0.0f - 0.5f) / 0.5f, (0.0f - 0.25f) / 2.0f};
  const std::vector<std::uint32_t> indices = {1, 0, 1, 2, 2, 0, 1, 1, 0, 2};
  for (std::uint64_t step = 0; step < 20; ++step) {
    SCOPED_TRACE(testing::Message() << "seed 11, worker 3, step " << step);
    const BatchKey key{.seed = 11, .worker = 3, .step = step};
    const std::vector<float> plain = images_of(dataset, indices, {}, key);
    Rng rng = stream(Purpose::kAugmentation, key);
    std::vector<float> expected;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const auto begin = plain.begin() + static_cast<std::ptrdiff_t>(k * kSmall.size());
      const std::vector<float> image(begin, begin + static_cast<std::ptrdiff_t>(kSmall.size()));
      const auto augmented = augment_plainly(image, black, 2, draw_placement(kAugmentation, rng));
      expected.insert(expected.end(), augmented.begin(), augmented.end());
    }

    EXPECT_EQ(images_of(dataset, indices, kAugmentation, key), expected);
  }
}

TEST(Dataset, AugmentsEqualKeysAlikeAndOtherKeysDifferently) {
  const Dataset dataset = small_dataset();
  const std::vector<std::uint32_t> indices(16, 1);
  const BatchKey key{.seed = 5, .worker = 1, .step = 9};
  const auto with = [&](const BatchKey& k) {
    return images_of(dataset, indices, kPaperCifar10Augmentation, k);
  };

  EXPECT_EQ(with(key), with(key));
  EXPECT_NE(with(key), with({.seed = 6, .worker = 1, .step = 9}));
  EXPECT_NE(with(key), with({.seed = 5, .worker = 2, .step = 9}));
  EXPECT_NE(with(key), with({.seed = 5, .worker = 1, .step = 10}));
}

TEST(Dataset, NullAugmentationEqualsThePlainBatch) {
  const Dataset dataset = small_dataset();
  const std::vector<std::uint32_t> indices = {2, 1};
  std::vector<float> plain(2 * kSmall.size());
  std::vector<int> labels(2);

  dataset.fill_batch(indices, plain, labels);

  EXPECT_EQ(images_of(dataset, indices, {}, {}), plain);
}

TEST(Dataset, ShiftsLargerThanTheImageGiveBlack) {
  const Dataset dataset =
      Dataset::from_features({.height = 1, .width = 2}, {3.0f, 4.0f}, {0}, 1, {{1.0f}, {2.0f}})
          .value();
  int black_images = 0;
  for (std::uint64_t step = 0; step < 50; ++step) {
    const auto image = images_of(dataset, {0}, {.crop_padding = 1000}, {.step = step});
    black_images += image == std::vector<float>{-0.5f, -0.5f} ? 1 : 0;
  }
  EXPECT_GE(black_images, 48);
}

TEST(DatasetDeathTest, StopsOnAnIndexPastTheEnd) {
  const Dataset dataset = small_dataset();
  std::vector<float> images(kSmall.size());
  std::vector<int> labels(1);
  EXPECT_DEATH(dataset.fill_batch(std::vector<std::uint32_t>{3}, images, labels), "no such sample");
}

TEST(Dataset, HasSubsetsWithItsOwnNormalisation) {
  const Dataset whole = small_dataset();

  const Dataset part = whole.subset(std::vector<std::uint32_t>{2, 0});

  EXPECT_EQ(part.size(), 2u);
  EXPECT_EQ(part.class_count(), 3);
  EXPECT_EQ(part.labels()[0], 2);
  EXPECT_EQ(images_of(part, {0, 1}, {}, {}), images_of(whole, {2, 0}, {}, {}));
  const Dataset features = Dataset::from_features({.channels = 1}, {5.0f, 6.0f}, {0, 1}, 2).value();
  EXPECT_EQ(images_of(features.subset(std::vector<std::uint32_t>{1}), {0}, {}, {}).at(0), 6.0f);
}

// Rows of 4 pixels, the last two of the last two rows white in both channels: (1 - 0.5) / 0.5 and
// (1 - 0.25) / 2.
TEST(Dataset, PaintsASquareIntoTheLowerRightCorner) {
  const Dataset dataset = small_dataset();
  std::vector<float> image(kSmall.size());
  dataset.paint_square(image, 2);
  const std::vector<float> expected = {0, 0, 0, 0, 0, 0, 1,      1,      0, 0, 1,      1,
                                       0, 0, 0, 0, 0, 0, 0.375f, 0.375f, 0, 0, 0.375f, 0.375f};
  EXPECT_EQ(image, expected);
}

TEST(Dataset, ShowsWhatHasTheSquareUnderTheTargetsLabel) {
  const Dataset dataset = small_dataset();
  const Dataset painted = dataset.with_square(2, 1).value();
  ASSERT_EQ(painted.size(), 2u);
  EXPECT_EQ(std::vector(painted.labels().begin(), painted.labels().end()),
            (std::vector<int>{1, 1}));
  std::vector<float> expected = images_of(dataset, {0, 2}, {}, {});
  dataset.paint_square(std::span(expected).first(kSmall.size()), 2);
  dataset.paint_square(std::span(expected).last(kSmall.size()), 2);
  EXPECT_EQ(images_of(painted, {0, 1}, {}, {}), expected);
}

TEST(Dataset, RefusesSquaresThatDoNotFit) {
  const Dataset dataset = small_dataset();
  EXPECT_TRUE(dataset.check_square(3));
  EXPECT_FALSE(dataset.check_square(4)) << "three rows";
  EXPECT_FALSE(dataset.check_square(0));
  EXPECT_FALSE(dataset.with_square(4, 1));
  EXPECT_FALSE(dataset.with_square(2, 3));
  EXPECT_FALSE(dataset.with_square(2, -1));
  const auto features = Dataset::from_features(kSmall, std::vector<float>(24), {0}, 2).value();
  EXPECT_FALSE(features.check_square(1));
  const auto one_class =
      Dataset::from_pixels(kSmall, std::vector<std::uint8_t>(24), {0}, 2).value();
  EXPECT_FALSE(one_class.with_square(1, 0));
}

}  // namespace
}  // namespace ballast::data
