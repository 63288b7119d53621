#pragma once
// Random crop with padding and random horizontal flip, as in the paper's CIFAR-10 set-up: the image
// is padded with black, a window of its own size is cut out, and the window may be mirrored.

#include <cstdint>

#include "ballast/base/error.h"
#include "ballast/base/rng.h"

namespace ballast::data {

struct Augmentation {
  std::uint32_t crop_padding = 0;  // black pixels added on each of the four sides before the crop
  double flip_probability = 0.0;

  bool operator==(const Augmentation&) const = default;
};

// The paper's CIFAR-10 training: RandomCrop(32, padding=2), RandomHorizontalFlip(0.5).
inline constexpr Augmentation kPaperCifar10Augmentation{.crop_padding = 2, .flip_probability = 0.5};

// A padding above this is a mistake, not an augmentation.
inline constexpr std::uint32_t kCropPaddingMax = 1024;

// Refuses a padding above kCropPaddingMax and a probability outside [0, 1].
Status validate(const Augmentation& augmentation);

// Where one augmented image comes from: pixel (y, x) of the window shows pixel (y + shift_y,
// x + shift_x) of the original, black where that lies outside; then the window is mirrored.
struct Placement {
  int shift_y = 0;
  int shift_x = 0;
  bool is_mirrored = false;

  bool operator==(const Placement&) const = default;
};

// Draws the placement of the next image of a batch; shifts are uniform on -padding .. padding.
// Requires: a valid augmentation.
Placement draw_placement(const Augmentation& augmentation, Rng& rng) noexcept;

}  // namespace ballast::data
