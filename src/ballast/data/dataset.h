#pragma once
// Labelled images (or plain feature vectors) in memory, kept as they came and normalised when a
// batch is made.
//
// Invariants: (1) there is at least one sample; (2) every label is in 0 .. class_count - 1;
// (3) every normalised value is finite.
// Thread-safety: immutable after construction; any number of threads may fill batches.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/augment.h"
#include "ballast/data/batch_key.h"

namespace ballast::data {

// Limits on what a file or a specification may claim; generous for anything this program can train.
inline constexpr std::size_t kExtentMax = 1 << 20;  // channels, height or width of one sample
inline constexpr std::size_t kSampleCountMax = 0xFFFF'FFFF;
inline constexpr int kClassCountMax = 1 << 16;
inline constexpr std::size_t kWorkerCountMax = 1 << 16;

// Extents of one sample. A table of d features per sample is {.channels = d}, so that each feature
// can have its own mean and deviation.
struct Shape {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;

  std::size_t size() const noexcept { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};

// value -> (value - mean[c]) / deviation[c], per channel; both empty means: leave the values alone.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> deviation;
};

class Dataset {
 public:
  // Pixels, one sample after the other, each channels x height x width; 0 .. 255 means 0 .. 1.
  static Result<Dataset> from_pixels(Shape shape, std::vector<std::uint8_t> pixels,
                                     std::vector<int> labels, int class_count,
                                     Normalization normalization = {});

  // Real numbers in the same order. Refuses values that are not finite.
  static Result<Dataset> from_features(Shape shape, std::vector<float> features,
                                       std::vector<int> labels, int class_count,
                                       Normalization normalization = {});

  // These samples alone, in this order, with the same classes and normalisation.
  // Requires: at least one index, every index < size().
  Dataset subset(std::span<const std::uint32_t> indices) const;

  std::size_t size() const noexcept { return labels_.size(); }
  const Shape& shape() const noexcept { return shape_; }
  int class_count() const noexcept { return class_count_; }
  std::span<const int> labels() const noexcept { return labels_; }

  // Whether the samples are pixels, whose 0 .. 255 are taken for 0 .. 1 before they are normalised.
  bool has_pixels() const noexcept { return values_.index() == 0; }
  // One mean and one deviation per channel, 0 and 1 where nothing is normalised.
  const Normalization& normalization() const noexcept { return normalization_; }

  // Refuses a square of that many pixels that the images are too small for, and data that are no
  // pixels.
  Status check_square(std::size_t size) const;

  // Paints a white square into the lower right corner of a normalised image, in every channel.
  // Requires: check_square(size), image.size() == shape().size().
  void paint_square(std::span<float> image, std::size_t size) const;

  // Every sample of another class, with the square and this label: by how many of them a model
  // takes for that class one sees a back door. Refuses what check_square() refuses, a label that is
  // no class, and data of one class.
  Result<Dataset> with_square(std::size_t size, int label) const;

  // Writes the named samples, normalised, as indices.size() x channels x height x width, and their
  // labels.
  //
  // Requires: every index < size(), images.size() == indices.size() * shape().size(),
  // labels.size() == indices.size().
  void fill_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                  std::span<int> labels) const;

  // The same with the k-th sample placed by the k-th draw of the key's augmentation stream: the
  // same indices and key give the same images, and a sample that occurs twice is placed twice.
  //
  // Requires: also that the augmentation is valid.
  void fill_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                  std::span<int> labels, const Augmentation& augmentation,
                  const BatchKey& key) const;

 private:
  using Values = std::variant<std::vector<std::uint8_t>, std::vector<float>>;

  Dataset() = default;
  static Result<Dataset> create(Shape shape, Values values, std::vector<int> labels,
                                int class_count, Normalization normalization);
  void prepare_normalization(Normalization normalization);
  bool is_finite_when_normalised() const noexcept;
  float normalise(std::uint8_t pixel, std::size_t channel) const noexcept;
  float normalise(float feature, std::size_t channel) const noexcept;
  void write_image(std::size_t index, std::span<float> out) const;
  void write_placed_image(std::size_t index, const Placement& placement,
                          std::span<float> out) const;
  void check_batch(std::span<const std::uint32_t> indices, std::span<float> images,
                   std::span<int> labels) const;

  Shape shape_;
  Values values_;
  std::vector<int> labels_;
  int class_count_ = 0;
  Normalization normalization_;
  std::vector<float> pixel_table_;  // for pixels: channels x 256 normalised values
};

}  // namespace ballast::data
