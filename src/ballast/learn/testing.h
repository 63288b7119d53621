#pragma once
// What the tests of this room share: random data of any shape, and networks on them.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/data/dataset.h"
#include "ballast/data/partition.h"
#include "ballast/learn/model.h"

namespace ballast::learn::testing {

struct RandomData {
  data::Shape shape;
  int class_count = 2;
  std::size_t samples = 40;
  std::uint64_t seed = 1;
};

// Pixels, so that normalisation and black borders matter. The labels follow the brightness of the
// sample, so that there is something to learn.
inline std::shared_ptr<const data::Dataset> random_dataset(const RandomData& wanted) {
  Rng rng(wanted.seed);
  std::vector<std::uint8_t> pixels;
  std::vector<int> labels;
  for (std::size_t i = 0; i < wanted.samples; ++i) {
    const auto label = rng.below(static_cast<std::uint64_t>(wanted.class_count));
    labels.push_back(static_cast<int>(label));
    for (std::size_t j = 0; j < wanted.shape.size(); ++j) {
      const bool is_bright = j % static_cast<std::size_t>(wanted.class_count) == label;
      pixels.push_back(static_cast<std::uint8_t>(rng.below(is_bright ? 256 : 100)));
    }
  }
  const data::Normalization normalization = {
      .mean = std::vector<float>(wanted.shape.channels, 0.3f),
      .deviation = std::vector<float>(wanted.shape.channels, 0.25f)};
  return std::make_shared<const data::Dataset>(
      data::Dataset::from_pixels(wanted.shape, std::move(pixels), std::move(labels),
                                 wanted.class_count, normalization)
          .value());
}

// Three workers who draw from all of it.
inline TrainingData training_on(std::shared_ptr<const data::Dataset> dataset, std::size_t batch) {
  auto partition =
      std::make_shared<const data::Partition>(data::Partition::shared(dataset->size(), 3).value());
  return {.dataset = std::move(dataset), .partition = std::move(partition), .batch = batch};
}

inline std::vector<int> reversed_labels(int class_count) {
  std::vector<int> map;
  for (int label = class_count; label-- > 0;) map.push_back(label);
  return map;
}

}  // namespace ballast::learn::testing
