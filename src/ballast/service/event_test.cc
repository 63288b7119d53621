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

}  // namespace
}  // namespace ballast::service
