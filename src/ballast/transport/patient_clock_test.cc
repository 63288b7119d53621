#include "ballast/transport/patient_clock.h"

#include <gtest/gtest.h>

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PatientClock::Time kStart{seconds(1'000)};

TEST(PatientClock, GoesLikeAnyOtherWhileItIsLookedAt) {
  PatientClock clock(kStart, milliseconds(200));
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(clock.at(kStart + i * milliseconds(50)), i * milliseconds(50));
  }
}

TEST(PatientClock, CountsNoMoreThanAStrideOfAStall) {
  PatientClock clock(kStart, milliseconds(200));
  EXPECT_EQ(clock.at(kStart + seconds(60)), milliseconds(200));
  EXPECT_EQ(clock.at(kStart + seconds(60) + milliseconds(100)), milliseconds(300));
}

TEST(PatientClock, NeverGoesBack) {
  PatientClock clock(kStart, milliseconds(200));
  clock.at(kStart + milliseconds(100));
  EXPECT_EQ(clock.at(kStart), milliseconds(100));
  EXPECT_EQ(clock.at(kStart + milliseconds(150)), milliseconds(150));
}

}  // namespace
}  // namespace ballast::transport
