#include "ballast/service/log_limiter.h"

#include <gtest/gtest.h>

namespace ballast::service {
namespace {

using std::chrono::seconds;

TEST(LogLimiter, ABurstIsLoggedAndThenOneLineForEachPause) {
  LogLimiter budget(2);
  const LogLimiter::Time start{std::chrono::hours(1)};
  for (int i = 0; i < LogLimiter::kBurst; ++i) EXPECT_EQ(budget.spend(0, start), 0u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(budget.spend(0, start + seconds(1)), std::nullopt);
  EXPECT_EQ(budget.spend(0, start + seconds(6)), 1000u) << "the line says what was left out";
  EXPECT_EQ(budget.spend(0, start + seconds(6)), std::nullopt);
  EXPECT_EQ(budget.spend(1, start + seconds(6)), 0u) << "others have a budget of their own";
}

TEST(LogLimiter, AQuietWorkerHasItsBurstAgainAndNoMore) {
  LogLimiter budget(1);
  LogLimiter::Time now{std::chrono::hours(1)};
  for (const int hours : {1, 1000}) {
    now += std::chrono::hours(hours);
    int logged = 0;
    for (int i = 0; i < 100; ++i) logged += budget.spend(0, now) ? 1 : 0;
    EXPECT_EQ(logged, LogLimiter::kBurst);
  }
}

}  // namespace
}  // namespace ballast::service
