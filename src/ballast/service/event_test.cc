#include "ballast/service/event.h"

#include <gtest/gtest.h>

#include <limits>

namespace ballast::service {
namespace {

constexpr std::chrono::sys_time<std::chrono::milliseconds> kTime{std::chrono::milliseconds(1'500)};

TEST(LogLine, HasTimeLevelAndEventBeforeTheFields) {
  EXPECT_EQ(
      log_line({Severity::kWarning, "refused", {{"worker", "worker-0"}, {"count", 3u}}}, kTime),
      R"({"time":"1970-01-01T00:00:01.500Z","level":"warning","event":"refused",)"
      R"("worker":"worker-0","count":3})");
}

TEST(LogLine, QuotesWhatAPeerMaySay) {
  const std::string line = log_line({Severity::kInfo, "x", {{"why", "a\"},\n\xff"}}}, kTime);
  EXPECT_NE(line.find(R"("why":"a\"},\n\ufffd")"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(LogLine, WhatIsNoNumberIsNull) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string line =
      log_line({Severity::kInfo, "x", {{"a", nan}, {"b", nullptr}, {"c", -1}, {"d", true}}}, kTime);
  EXPECT_NE(line.find(R"("a":null,"b":null,"c":-1,"d":true)"), std::string::npos) << line;
}

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
