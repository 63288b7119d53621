#include "ballast/data/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace ballast::data {
namespace {

TEST(Augmentation, RefusesNonsense) {
  EXPECT_TRUE(validate({}));
  EXPECT_TRUE(validate(kPaperCifar10Augmentation));
  EXPECT_TRUE(validate({.crop_padding = kCropPaddingMax, .flip_probability = 1.0}));
  EXPECT_FALSE(validate({.crop_padding = kCropPaddingMax + 1}));
  EXPECT_FALSE(validate({.flip_probability = -0.1}));
  EXPECT_FALSE(validate({.flip_probability = 1.1}));
  EXPECT_FALSE(validate({.flip_probability = std::numeric_limits<double>::quiet_NaN()}));
}

TEST(Augmentation, WithoutPaddingAndFlipIsTheIdentity) {
  Rng rng(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draw_placement({}, rng), Placement{});
}

TEST(Augmentation, DrawsEveryShiftAndFlipEquallyOften) {
  constexpr int kDraws = 50000;
  Rng rng(7);
  std::map<int, int> shifts_y, shifts_x;
  int mirrored = 0;

  for (int i = 0; i < kDraws; ++i) {
    const Placement placement = draw_placement(kPaperCifar10Augmentation, rng);
    ++shifts_y[placement.shift_y];
    ++shifts_x[placement.shift_x];
    mirrored += placement.is_mirrored ? 1 : 0;
  }

  ASSERT_EQ(shifts_y.size(), 5u);
  ASSERT_EQ(shifts_x.size(), 5u);
  const double tolerance = 5.0 * std::sqrt(kDraws * 0.2 * 0.8);
  for (int shift = -2; shift <= 2; ++shift) {
    EXPECT_NEAR(shifts_y[shift], kDraws / 5.0, tolerance);
    EXPECT_NEAR(shifts_x[shift], kDraws / 5.0, tolerance);
  }
  EXPECT_NEAR(mirrored, kDraws / 2.0, 5.0 * std::sqrt(kDraws * 0.25));
}

}  // namespace
}  // namespace ballast::data
