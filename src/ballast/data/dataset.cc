#include "ballast/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::data {
namespace {

constexpr std::size_t kPixelValues = 256;
constexpr std::uint8_t kWhite = 255;

Status validate_shape(const Shape& shape) {
  for (const std::size_t extent : {shape.channels, shape.height, shape.width}) {
    if (extent == 0 || extent > kExtentMax) {
      return invalid_argument(
          fmt::format("a sample of {} x {} x {} values: each extent must be 1 to {}",
                      shape.channels, shape.height, shape.width, kExtentMax));
    }
  }
  return {};
}

Status validate_counts(const Shape& shape, std::size_t value_count, std::size_t label_count) {
  if (label_count == 0) return invalid_argument("the data set has no samples");
  if (label_count > kSampleCountMax) {
    return invalid_argument(
        fmt::format("{} samples are more than the limit of {}", label_count, kSampleCountMax));
  }
  // Divided, because the product of untrusted numbers may wrap around.
  if (value_count % label_count != 0 || value_count / label_count != shape.size()) {
    return invalid_argument(fmt::format("{} values do not make {} samples of {} x {} x {}",
                                        value_count, label_count, shape.channels, shape.height,
                                        shape.width));
  }
  return {};
}

Status validate_labels(std::span<const int> labels, int class_count) {
  if (class_count < 1 || class_count > kClassCountMax) {
    return invalid_argument(
        fmt::format("{} classes: the count must be 1 to {}", class_count, kClassCountMax));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= class_count) {
      return invalid_argument(
          fmt::format("sample {} has label {}, outside 0 .. {}", i, labels[i], class_count - 1));
    }
  }
  return {};
}

Status validate_normalization(const Normalization& normalization, std::size_t channels) {
  const auto& [mean, deviation] = normalization;
  if (mean.empty() && deviation.empty()) return {};
  if (mean.size() != channels || deviation.size() != channels) {
    return invalid_argument(fmt::format("{} means and {} deviations for {} channels", mean.size(),
                                        deviation.size(), channels));
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(deviation[c]) || deviation[c] <= 0.0f) {
      return invalid_argument(
          fmt::format("channel {} has mean {} and deviation {}: both must be "
                      "finite, and the deviation positive",
                      c, mean[c], deviation[c]));
    }
  }
  return {};
}

// What the placed image shows at (y, x).
template <typename Value>
Value placed_value(const Value* plane, const Shape& shape, const Placement& placement,
                   std::size_t y, std::size_t x) noexcept {
  const std::size_t window_x = placement.is_mirrored ? shape.width - 1 - x : x;
  // A shift to before the first row or column wraps around to a number past the last.
  const std::size_t source_y = y + static_cast<std::size_t>(placement.shift_y);
  const std::size_t source_x = window_x + static_cast<std::size_t>(placement.shift_x);
  const bool is_inside = source_y < shape.height && source_x < shape.width;
  return is_inside ? plane[source_y * shape.width + source_x] : Value{0};
}

}  // namespace

Result<Dataset> Dataset::from_pixels(Shape shape, std::vector<std::uint8_t> pixels,
                                     std::vector<int> labels, int class_count,
                                     Normalization normalization) {
  return create(shape, std::move(pixels), std::move(labels), class_count, std::move(normalization));
}

Result<Dataset> Dataset::from_features(Shape shape, std::vector<float> features,
                                       std::vector<int> labels, int class_count,
                                       Normalization normalization) {
  return create(shape, std::move(features), std::move(labels), class_count,
                std::move(normalization));
}

Result<Dataset> Dataset::create(Shape shape, Values values, std::vector<int> labels,
                                int class_count, Normalization normalization) {
  const std::size_t value_count = std::visit([](const auto& v) { return v.size(); }, values);
  BALLAST_TRY_STATUS(validate_shape(shape));
  BALLAST_TRY_STATUS(validate_counts(shape, value_count, labels.size()));
  BALLAST_TRY_STATUS(validate_labels(labels, class_count));
  BALLAST_TRY_STATUS(validate_normalization(normalization, shape.channels));
  Dataset dataset;
  dataset.shape_ = shape;
  dataset.values_ = std::move(values);
  dataset.labels_ = std::move(labels);
  dataset.class_count_ = class_count;
  dataset.prepare_normalization(std::move(normalization));
  if (!dataset.is_finite_when_normalised()) {
    return invalid_argument("some value of the data set is not finite after normalisation");
  }
  return dataset;
}

Dataset Dataset::subset(std::span<const std::uint32_t> indices) const {
  BALLAST_CHECK(!indices.empty(), "a data set has a sample");
  Dataset result;
  result.shape_ = shape_;
  result.class_count_ = class_count_;
  result.normalization_ = normalization_;
  result.pixel_table_ = pixel_table_;
  for (const std::uint32_t index : indices) {
    BALLAST_CHECK(index < size(), "the samples are of this set");
    result.labels_.push_back(labels_[index]);
  }
  std::visit(
      [&]<typename V>(const std::vector<V>& values) {
        std::vector<V> chosen;
        chosen.reserve(indices.size() * shape_.size());
        for (const std::uint32_t index : indices) {
          const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * shape_.size());
          chosen.insert(chosen.end(), begin, begin + static_cast<std::ptrdiff_t>(shape_.size()));
        }
        result.values_ = std::move(chosen);
      },
      values_);
  return result;
}

void Dataset::prepare_normalization(Normalization normalization) {
  if (normalization.mean.empty()) {
    normalization.mean.assign(shape_.channels, 0.0f);
    normalization.deviation.assign(shape_.channels, 1.0f);
  }
  normalization_ = std::move(normalization);
  if (!std::holds_alternative<std::vector<std::uint8_t>>(values_)) return;
  pixel_table_.reserve(shape_.channels * kPixelValues);
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    for (std::size_t pixel = 0; pixel < kPixelValues; ++pixel) {
      pixel_table_.push_back(normalise(static_cast<float>(pixel) / 255.0f, c));
    }
  }
}

bool Dataset::is_finite_when_normalised() const noexcept {
  const auto finite = [](float value) { return std::isfinite(value); };
  const auto* features = std::get_if<std::vector<float>>(&values_);
  if (features == nullptr) return std::all_of(pixel_table_.begin(), pixel_table_.end(), finite);
  const std::size_t plane = shape_.height * shape_.width;
  for (std::size_t i = 0; i < features->size(); ++i) {
    if (!finite(normalise((*features)[i], i / plane % shape_.channels))) return false;
  }
  return true;
}

float Dataset::normalise(std::uint8_t pixel, std::size_t channel) const noexcept {
  return pixel_table_[channel * kPixelValues + pixel];
}

float Dataset::normalise(float feature, std::size_t channel) const noexcept {
  return (feature - normalization_.mean[channel]) / normalization_.deviation[channel];
}

void Dataset::write_image(std::size_t index, std::span<float> out) const {
  const std::size_t plane = shape_.height * shape_.width;
  const auto write = [&](const auto& values) {
    const auto* source = values.data() + index * shape_.size();
    for (std::size_t i = 0, c = 0; c < shape_.channels; ++c) {
      for (const std::size_t end = i + plane; i < end; ++i) out[i] = normalise(source[i], c);
    }
  };
  std::visit(write, values_);
}

void Dataset::write_placed_image(std::size_t index, const Placement& placement,
                                 std::span<float> out) const {
  const auto write = [&]<typename Value>(const std::vector<Value>& values) {
    const Value* plane = values.data() + index * shape_.size();
    float* pixel = out.data();
    for (std::size_t c = 0; c < shape_.channels; ++c, plane += shape_.height * shape_.width) {
      for (std::size_t y = 0; y < shape_.height; ++y) {
        for (std::size_t x = 0; x < shape_.width; ++x) {
          *pixel++ = normalise(placed_value(plane, shape_, placement, y, x), c);
        }
      }
    }
  };
  std::visit(write, values_);
}

Status Dataset::check_square(std::size_t size) const {
  if (!has_pixels()) return unsupported("only images of pixels can have a trigger");
  if (size >= 1 && size <= std::min(shape_.height, shape_.width)) return {};
  return invalid_argument(fmt::format("a trigger of {} pixels does not fit images of {} x {}", size,
                                      shape_.height, shape_.width));
}

void Dataset::paint_square(std::span<float> image, std::size_t size) const {
  BALLAST_CHECK(check_square(size).has_value() && image.size() == shape_.size(),
                "the square does not fit the image");
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    const float white = normalise(kWhite, c);
    for (std::size_t y = shape_.height - size; y < shape_.height; ++y) {
      float* const row = image.data() + (c * shape_.height + y) * shape_.width;
      std::fill(row + shape_.width - size, row + shape_.width, white);
    }
  }
}

Result<Dataset> Dataset::with_square(std::size_t size, int label) const {
  BALLAST_TRY_STATUS(check_square(size));
  if (label < 0 || label >= class_count_) {
    return invalid_argument(fmt::format("the target of a trigger is {}; the classes are 0 to {}",
                                        label, class_count_ - 1));
  }
  const auto& pixels = std::get<std::vector<std::uint8_t>>(values_);
  std::vector<std::uint8_t> painted;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] == label) continue;
    const std::size_t begin = painted.size();
    const auto first = pixels.begin() + static_cast<std::ptrdiff_t>(i * shape_.size());
    painted.insert(painted.end(), first, first + static_cast<std::ptrdiff_t>(shape_.size()));
    for (std::size_t line = 0; line < shape_.channels * shape_.height; ++line) {
      if (line % shape_.height < shape_.height - size) continue;
      std::fill_n(painted.data() + begin + (line + 1) * shape_.width - size, size, kWhite);
    }
  }
  const std::size_t count = painted.size() / shape_.size();
  if (count == 0) return invalid_argument("every sample is of the trigger's class already");
  return from_pixels(shape_, std::move(painted), std::vector<int>(count, label), class_count_,
                     normalization_);
}

void Dataset::check_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                          std::span<int> labels) const {
  BALLAST_CHECK(images.size() == indices.size() * shape_.size(), "image buffer of another size");
  BALLAST_CHECK(labels.size() == indices.size(), "label buffer of another size");
  for (const std::uint32_t index : indices) BALLAST_CHECK(index < size(), "no such sample");
}

void Dataset::fill_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                         std::span<int> labels) const {
  check_batch(indices, images, labels);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    write_image(indices[k], images.subspan(k * shape_.size(), shape_.size()));
    labels[k] = labels_[indices[k]];
  }
}

void Dataset::fill_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                         std::span<int> labels, const Augmentation& augmentation,
                         const BatchKey& key) const {
  check_batch(indices, images, labels);
  BALLAST_CHECK(validate(augmentation).has_value(), "an augmentation nobody validated");
  Rng rng = stream(Purpose::kAugmentation, key);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Placement placement = draw_placement(augmentation, rng);
    write_placed_image(indices[k], placement, images.subspan(k * shape_.size(), shape_.size()));
    labels[k] = labels_[indices[k]];
  }
}

}  // namespace ballast::data
