#include "ballast/attacks/content_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace ballast::attacks {
namespace {

using Floats = std::vector<float>;

Floats changed(const AttackPointer& attack, Floats update, const worker::SampleKey& key) {
  attack->change_update(key, update);
  return update;
}

TEST(FixedVector, HasItsLengthWhateverTheUpdate) {
  for (const double length : {0.0, 1.0, 1e30}) {
    const Floats vector = changed(make_fixed_vector(length), Floats(1000, 7.0f), {.seed = 3});
    double squares = 0.0;
    for (const float value : vector) squares += double{value} * double{value};
    EXPECT_NEAR(std::sqrt(squares), length, 1e-6 * length);
  }
  const double largest = std::numeric_limits<double>::max();
  for (const float value : changed(make_fixed_vector(largest), Floats(10), {.seed = 3})) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(FixedVector, IsTheSameForEveryWorkerAndUpdateOfASeed) {
  const auto attack = make_fixed_vector(2.0);
  const Floats first = changed(attack, Floats(5), {.seed = 3, .worker = 1, .step = 1});
  EXPECT_EQ(changed(attack, Floats(5, 9.0f), {.seed = 3, .worker = 2, .step = 7}), first);
  EXPECT_NE(changed(attack, Floats(5), {.seed = 4, .worker = 1, .step = 1}), first);
  // A longer model has no other direction in what it shares with a shorter one, but for the length.
  EXPECT_THAT(changed(make_fixed_vector(5.0), Floats(1), {.seed = 3}),
              testing::ElementsAre(std::copysign(5.0f, first[0])));
}

TEST(NotFinite, SpoilsOneValueThatIsDrawnAnewEachTime) {
  const auto attack = make_not_finite(NotFinite::kNan);
  std::set<std::size_t> places;
  for (std::uint64_t step = 1; step <= 60; ++step) {
    const Floats sent = changed(attack, {1, 2, 3, 4}, {.seed = 1, .worker = 2, .step = step});
    std::size_t spoilt = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      if (std::isnan(sent[j])) {
        ++spoilt;
        places.insert(j);
      } else {
        EXPECT_EQ(sent[j], static_cast<float>(j + 1));
      }
    }
    EXPECT_EQ(spoilt, 1u);
  }
  EXPECT_EQ(places.size(), 4u);
}

TEST(NotFinite, IsWhatItIsToldToBe) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(changed(make_not_finite(NotFinite::kInfinity), {1}, {}), Floats{kInfinity});
  EXPECT_EQ(changed(make_not_finite(NotFinite::kMinusInfinity), {1}, {}), Floats{-kInfinity});
}

}  // namespace
}  // namespace ballast::attacks
