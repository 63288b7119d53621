#include "ballast/data/augment.h"

#include <fmt/format.h>

namespace ballast::data {
namespace {

int draw_shift(std::uint32_t padding, Rng& rng) noexcept {
  return static_cast<int>(rng.below(2 * std::uint64_t{padding} + 1)) - static_cast<int>(padding);
}

}  // namespace

Status validate(const Augmentation& augmentation) {
  if (augmentation.crop_padding > kCropPaddingMax) {
    return invalid_argument(fmt::format("crop padding {} is above the limit of {} pixels",
                                        augmentation.crop_padding, kCropPaddingMax));
  }
  // Written so that NaN fails too.
  if (!(augmentation.flip_probability >= 0.0 && augmentation.flip_probability <= 1.0)) {
    return invalid_argument(
        fmt::format("flip probability {} is not between 0 and 1", augmentation.flip_probability));
  }
  return {};
}

Placement draw_placement(const Augmentation& augmentation, Rng& rng) noexcept {
  const int shift_y = draw_shift(augmentation.crop_padding, rng);
  const int shift_x = draw_shift(augmentation.crop_padding, rng);
  return {shift_y, shift_x, rng.uniform() < augmentation.flip_probability};
}

}  // namespace ballast::data
