// The loops against their formulas, bit for bit, whatever instruction set this machine picked.

#include "ballast/optim/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ballast/base/rng.h"

namespace ballast::optim {
namespace {

using Values = std::vector<float>;

// More than a few vectors of any width, and a rest.
constexpr std::size_t kCount = 1003;
constexpr double kShare = 0.1;

Values random_values(Rng& rng) {
  Values values(kCount);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

// A product that is rounded before anything is added to it.
double product(double left, double right) {
  const volatile double rounded = left * right;
  return rounded;
}

struct Vectors {
  explicit Vectors(std::uint64_t seed) {
    Rng rng(RngKey{.seed = seed, .purpose = 1, .owner = 0, .step = 0});
    for (Values* const values : {&w, &direction, &x}) *values = random_values(rng);
  }
  Values w, direction, x, next = Values(kCount);
};

TEST(Elementwise, CorrectRoundsItsProduct) {
  Vectors v(3);
  ASSERT_TRUE(correct(std::span<const float>(v.w), v.direction, v.x, kShare, v.next));
  for (std::size_t j = 0; j < kCount; ++j) {
    const double difference = double{v.direction[j]} - double{v.x[j]};
    EXPECT_EQ(v.next[j], static_cast<float>(v.w[j] + product(kShare, difference))) << j;
  }
}

TEST(Elementwise, WhatIsNotFiniteIsFoundWhereverItIs) {
  for (const std::size_t place : {std::size_t{0}, std::size_t{17}, kCount - 1}) {
    for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      Vectors v(5);
      v.direction[place] = bad;
      EXPECT_FALSE(correct(std::span<const float>(v.w), v.direction, v.x, kShare, v.next));
    }
  }
}

}  // namespace
}  // namespace ballast::optim
