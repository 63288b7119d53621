#include "ballast/service/round_trips.h"

#include <gtest/gtest.h>

namespace ballast::service {
namespace {

using std::chrono::milliseconds;

TEST(RoundTrips, TellsTheFiguresOfAPeriodOnce) {
  const RoundTrips::Clock::time_point start{};
  RoundTrips trips(milliseconds(1000), start);
  for (int i = 1; i < 200; ++i) {
    EXPECT_FALSE(trips.note(milliseconds(200 - i), start + milliseconds(i)));
  }
  const auto figures = trips.note(milliseconds(200), start + milliseconds(1000));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->count, 200u);
  EXPECT_DOUBLE_EQ(figures->p50_ms, 100.0);
  EXPECT_DOUBLE_EQ(figures->p99_ms, 198.0);
  EXPECT_DOUBLE_EQ(figures->max_ms, 200.0);
  EXPECT_FALSE(trips.note(milliseconds(5), start + milliseconds(1999)));
  const auto next = trips.note(milliseconds(7), start + milliseconds(2000));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->count, 2u);
  EXPECT_DOUBLE_EQ(next->p50_ms, 5.0);
  EXPECT_DOUBLE_EQ(next->p99_ms, 7.0);
}

TEST(RoundTrips, TellsNothingWithoutAPeriod) {
  RoundTrips trips(milliseconds(0), {});
  EXPECT_FALSE(trips.note(milliseconds(1), RoundTrips::Clock::time_point{} + milliseconds(1)));
}

}  // namespace
}  // namespace ballast::service
