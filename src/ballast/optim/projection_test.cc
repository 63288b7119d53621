#include "ballast/optim/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "ballast/base/rng.h"

namespace ballast::optim {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

constexpr std::size_t kDim = 5;

std::vector<Projection> bounded_sets() {
  return {Box{-0.5, 0.25}, Ball{.radius = 0.75},
          Ball{.radius = 2.0, .centre = {1.0, -2.0, 3.0, -4.0, 5.0}}};
}

std::vector<double> draw_point(Rng& rng) {
  std::vector<double> point(kDim);
  for (double& value : point) value = 4.0 * rng.normal();
  return point;
}

template <typename Real>
std::vector<Real> projected(const Projection& set, std::vector<Real> point) {
  project<Real>(set, point);
  return point;
}

double squared_distance(std::span<const double> one, std::span<const double> two) {
  double sum = 0.0;
  for (std::size_t j = 0; j < one.size(); ++j) sum += (one[j] - two[j]) * (one[j] - two[j]);
  return sum;
}

TEST(Projection, ClampsEachCoordinateToTheBox) {
  EXPECT_THAT(projected<double>(Box{-1.0, 2.0}, {-3.0, 0.5, 7.0}), ElementsAre(-1.0, 0.5, 2.0));
}

// |(3, 4)| = 5, so the ball of radius 1 keeps a fifth of it.
TEST(Projection, ShrinksOntoTheBall) {
  EXPECT_THAT(projected<double>(Ball{.radius = 1.0}, {3.0, 4.0}),
              ElementsAre(DoubleEq(0.6), DoubleEq(0.8)));
  EXPECT_THAT(projected<double>(Ball{.radius = 1.0, .centre = {10.0, 20.0}}, {13.0, 24.0}),
              ElementsAre(DoubleEq(10.6), DoubleEq(20.8)));
}

TEST(Projection, LeavesInnerPointsBitForBit) {
  const std::vector<float> inner = {0.1f, -0.2f, 0.2f, -0.0f, 1e-40f};
  for (const Projection& set : {Projection{NoProjection{}}, Projection{Box{-0.5, 0.25}},
                                Projection{Ball{.radius = 0.75}}}) {
    EXPECT_EQ(projected(set, inner), inner);
  }
}

TEST(Projection, IsIdempotent) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (const Projection& set : bounded_sets()) {
    for (int trial = 0; trial < 50; ++trial) {
      const auto once = projected(set, draw_point(rng));
      const auto twice = projected(set, once);
      for (std::size_t j = 0; j < kDim; ++j) EXPECT_NEAR(twice[j], once[j], 1e-14);
    }
  }
}

// The projected points of other draws stand for the points of the set.
TEST(Projection, IsTheNearestPointOfTheSet) {
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE(kSeed);
  Rng rng(kSeed);
  for (const Projection& set : bounded_sets()) {
    for (int trial = 0; trial < 200; ++trial) {
      const auto point = draw_point(rng);
      const auto nearest = projected(set, point);
      const auto other = projected(set, draw_point(rng));
      EXPECT_LE(squared_distance(point, nearest), squared_distance(point, other) + 1e-12);
    }
  }
}

TEST(Projection, BringsTheLargestNumbersIntoTheBall) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_THAT(projected<float>(Ball{.radius = 5.0}, {largest, -largest, 0.0f, 0.0f}),
              ElementsAre(testing::FloatEq(static_cast<float>(std::sqrt(12.5))),
                          testing::FloatEq(static_cast<float>(-std::sqrt(12.5))), 0.0f, 0.0f));
  EXPECT_THAT(projected<double>(Ball{.radius = 5.0}, {3e300, 4e300}),
              ElementsAre(DoubleEq(3.0), DoubleEq(4.0)));
}

TEST(Projection, RefusesSetsThatAreEmptyUnboundedOrOfTheWrongSize) {
  const double nan = std::nan("");
  EXPECT_FALSE(validate(Box{1.0, -1.0}, 2).has_value());
  EXPECT_FALSE(validate(Box{-HUGE_VAL, 1.0}, 2).has_value());
  EXPECT_FALSE(validate(Box{nan, 1.0}, 2).has_value());
  EXPECT_FALSE(validate(Ball{.radius = 0.0}, 2).has_value());
  EXPECT_FALSE(validate(Ball{.radius = nan}, 2).has_value());
  EXPECT_FALSE(validate(Ball{.radius = 1.0, .centre = {0.0}}, 2).has_value());
  EXPECT_FALSE(validate(Ball{.radius = 1.0, .centre = {0.0, nan}}, 2).has_value());
  EXPECT_TRUE(validate(Ball{.radius = 1.0, .centre = {0.0, 1.0}}, 2).has_value());
  EXPECT_TRUE(validate(Box{1.0, 1.0}, 2).has_value());
}

}  // namespace
}  // namespace ballast::optim
