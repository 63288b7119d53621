#include "ballast/attacks/update_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ballast::attacks {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr worker::SampleKey kKey{.seed = 1, .worker = 2, .step = 3};

std::vector<float> changed(const AttackPointer& attack, std::vector<float> update,
                           const worker::SampleKey& key = kKey) {
  attack->change_update(key, update);
  return update;
}

TEST(Scaled, MultipliesTheUpdate) {
  EXPECT_THAT(changed(make_scaled(-10.0), {1.0f, -2.0f, 0.5f}), ElementsAre(-10.0f, 20.0f, -5.0f));
  EXPECT_THAT(changed(make_scaled(-1.0), {1.0f, -2.0f, 0.5f}), ElementsAre(-1.0f, 2.0f, -0.5f));
}

TEST(Scaled, NeverWritesANegativeZero) {
  for (const float value : changed(make_scaled(0.0), {1.0f, -2.0f})) {
    EXPECT_EQ(value, 0.0f);
    EXPECT_FALSE(std::signbit(value));
  }
}

TEST(Scaled, SaturatesInsteadOfOverflowing) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_THAT(changed(make_scaled(-10.0), {largest, -largest}), ElementsAre(-largest, largest));
  EXPECT_THAT(changed(make_scaled(1e308), {largest}), ElementsAre(largest));
}

TEST(Gaussian, HasMeanZeroAndDeviationSigmaWhateverTheUpdate) {
  constexpr std::size_t kDim = 100'000;
  double sum = 0.0, squares = 0.0;
  for (const float value : changed(make_gaussian(3.0), std::vector<float>(kDim, 7.0f))) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDim, 0.0, 0.05);
  EXPECT_NEAR(squares / kDim, 9.0, 0.2);
}

TEST(Gaussian, IsAFunctionOfTheKeyAlone) {
  const auto attack = make_gaussian(1.0);
  const auto noise = changed(attack, {0.0f, 0.0f});
  EXPECT_EQ(changed(attack, {5.0f, 6.0f}), noise);
  EXPECT_NE(changed(attack, {0.0f, 0.0f}, {.seed = 2, .worker = 2, .step = 3}), noise);
  EXPECT_NE(changed(attack, {0.0f, 0.0f}, {.seed = 1, .worker = 1, .step = 3}), noise);
  EXPECT_NE(changed(attack, {0.0f, 0.0f}, {.seed = 1, .worker = 2, .step = 4}), noise);
}

TEST(Gaussian, IsFiniteForTheLargestSigmaAndZeroForNone) {
  const std::vector<float> update(100);
  const auto huge = changed(make_gaussian(std::numeric_limits<double>::max()), update);
  for (const float value : huge) EXPECT_TRUE(std::isfinite(value));
  EXPECT_THAT(changed(make_gaussian(0.0), update), Each(0.0f));
}

TEST(UpdateAttacks, LeaveTheLabelsAndTheOthersAlone) {
  for (const auto& make : {make_scaled, make_gaussian}) {
    const auto attack = make(1.0);
    EXPECT_TRUE(attack->label_map(10)->empty());
    EXPECT_FALSE(attack->colludes());
  }
}

}  // namespace
}  // namespace ballast::attacks
