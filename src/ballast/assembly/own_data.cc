#include "ballast/assembly/own_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "ballast/files/array_file.h"
#include "ballast/files/error_text.h"
#include "ballast/files/text_file.h"

namespace ballast::assembly {
namespace {

// Labels are bytes in the native engine; more classes than that are a regression target by mistake.
constexpr double kLabelMax = 255.0;

Result<data::Shape> sample_shape(const files::ArrayShape& shape) {
  switch (shape.size()) {
    case 2:
      return data::Shape{.channels = shape[1]};
    case 3:
      return data::Shape{.channels = 1, .height = shape[1], .width = shape[2]};
    case 4:
      return data::Shape{.channels = shape[1], .height = shape[2], .width = shape[3]};
    default:
      return invalid_argument(fmt::format(
          "images of shape {} are neither samples x features, samples x height x width nor "
          "samples x channels x height x width",
          files::to_string(shape)));
  }
}

Result<std::vector<int>> whole_labels(const files::Array& array) {
  if (array.shape.size() != 1) {
    return invalid_argument(fmt::format("labels have the shape {} instead of one number per sample",
                                        files::to_string(array.shape)));
  }
  BALLAST_TRY(const std::vector<double> values, files::to_doubles(array));
  std::vector<int> labels;
  for (const double value : values) {
    if (!(value >= 0.0 && value <= kLabelMax && std::floor(value) == value)) {
      return invalid_argument(
          fmt::format("label {} of sample {} is not a whole number from 0 to {}", value,
                      labels.size(), kLabelMax));
    }
    labels.push_back(static_cast<int>(value));
  }
  return labels;
}

// Where the value lies, in the words of the array's shape: "sample 3, column 2".
std::string place_text(std::size_t index, const files::ArrayShape& shape) {
  constexpr std::array<std::array<const char*, 3>, 3> kNames = {
      {{"column"}, {"row", "column"}, {"channel", "row", "column"}}};
  std::string text;
  for (std::size_t i = shape.size(); i-- > 1;) {
    text = fmt::format(", {} {}{}", kNames[shape.size() - 2][i - 1], index % shape[i], text);
    index /= shape[i];
  }
  return fmt::format("sample {}{}", index, text);
}

// Requires: a shape that sample_shape() takes.
Status check_finite(std::span<const float> features, const files::ArrayShape& shape) {
  const auto wrong =
      std::ranges::find_if(features, [](float value) { return !std::isfinite(value); });
  if (wrong == features.end()) return {};
  const auto index = static_cast<std::size_t>(wrong - features.begin());
  return invalid_argument(
      fmt::format("{} is {}, which is no number to learn from", place_text(index, shape), *wrong));
}

// The test labels must be classes that the training labels have shown.
Status check_classes(std::span<const int> labels, int class_count) {
  const auto wrong = std::ranges::find_if(labels, [&](int label) { return label >= class_count; });
  if (wrong == labels.end()) return {};
  return invalid_argument(
      fmt::format("label {} of sample {} does not occur in training: its labels go from 0 to {}",
                  *wrong, wrong - labels.begin(), class_count - 1));
}

struct Arrays {
  files::Array images;
  std::vector<int> labels;
};

Result<Arrays> read(const ArrayPair& pair) {
  BALLAST_TRY(auto images, files::read_array(pair.images.string()));
  BALLAST_TRY(const auto labels, files::read_array(pair.labels.string()));
  BALLAST_TRY(auto whole, files::naming(pair.labels, whole_labels(labels)));
  return Arrays{std::move(images), std::move(whole)};
}

Result<data::Dataset> to_dataset(Arrays arrays, int class_count) {
  BALLAST_TRY(const data::Shape shape, sample_shape(arrays.images.shape));
  if (const auto* pixels = std::get_if<AlignedVector<std::uint8_t>>(&arrays.images.values)) {
    return data::Dataset::from_pixels(shape, {pixels->begin(), pixels->end()},
                                      std::move(arrays.labels), class_count);
  }
  BALLAST_TRY(const auto values, files::to_doubles(arrays.images));
  std::vector<float> features(values.size());
  std::ranges::transform(values, features.begin(), [](double x) { return static_cast<float>(x); });
  BALLAST_TRY_STATUS(check_finite(features, arrays.images.shape));
  return data::Dataset::from_features(shape, std::move(features), std::move(arrays.labels),
                                      class_count);
}

}  // namespace

Result<OwnData> load_own_data(const ArrayPair& train, const ArrayPair& test) {
  BALLAST_TRY(Arrays train_arrays, read(train));
  BALLAST_TRY(Arrays test_arrays, read(test));
  if (train_arrays.labels.empty()) {
    return invalid_argument(fmt::format("{}: there are no samples", train.labels.string()));
  }
  const int class_count = std::max(2, std::ranges::max(train_arrays.labels) + 1);
  BALLAST_TRY(auto train_set,
              files::naming(train.images, to_dataset(std::move(train_arrays), class_count)));
  BALLAST_TRY_STATUS(files::naming(test.labels, check_classes(test_arrays.labels, class_count)));
  BALLAST_TRY(auto test_set,
              files::naming(test.images, to_dataset(std::move(test_arrays), class_count)));
  if (train_set.shape() != test_set.shape()) {
    return invalid_argument(fmt::format("{} and {} hold samples of different shapes",
                                        train.images.string(), test.images.string()));
  }
  return OwnData{std::move(train_set), std::move(test_set)};
}

}  // namespace ballast::assembly
