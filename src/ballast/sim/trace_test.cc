#include "ballast/sim/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ballast::sim {
namespace {

using Workers = std::vector<std::uint32_t>;

void expect_refusal(std::string_view text, const std::string& message) {
  const auto trace = parse_trace(text, 10);
  ASSERT_FALSE(trace.has_value()) << text;
  EXPECT_EQ(trace.error().message, message);
}

TEST(Trace, IsOneWorkerPerLine) {
  EXPECT_EQ(parse_trace("0\n9\n3\n", 10).value(), (Workers{0, 9, 3}));
  EXPECT_EQ(parse_trace("0\r\n9\r\n3", 10).value(), (Workers{0, 9, 3}));
  EXPECT_EQ(parse_trace("007", 10).value(), Workers{7});
}

TEST(Trace, RefusesWhatIsNoNumberAndNamesTheLine) {
  const std::string reason = "not a worker number; write one such number per line";
  for (const char* line : {"", " 1", "1 ", "x", "-1", "+1", "1.0", "1,2", "0x1", "1\r\r", "\r"}) {
    SCOPED_TRACE(line);
    expect_refusal(std::string("5\n") + line + "\n", "line 2: " + reason);
  }
  expect_refusal(std::string_view("1\n2\n\0\n", 6), "line 3: " + reason);
}

TEST(Trace, RefusesStrangers) {
  const std::string reason = "no such worker; they are 0 to 9";
  expect_refusal("10", "line 1: " + reason);
  expect_refusal("1\n4294967296", "line 2: " + reason);
  expect_refusal("1\n99999999999999999999999999999999\n", "line 2: " + reason);
}

TEST(Trace, RefusesNothing) {
  expect_refusal("", "the trace is empty; write one worker number per line");
  EXPECT_FALSE(parse_trace("0", 0).has_value());
}

TEST(Trace, IsReadFromAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "ballast_trace_test.txt";
  std::ofstream(path) << "2\n0\n1\n";
  EXPECT_EQ(read_trace(path, 3).value(), (Workers{2, 0, 1}));
  EXPECT_EQ(read_trace(path, 2).error().message,
            path.string() + ": line 1: no such worker; they are 0 to 1");
  std::filesystem::resize_file(path, kTraceBytesMax + 1);
  EXPECT_NE(read_trace(path, 3).error().message.find("too many for a trace"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(read_trace(path, 3).error().message.find(path.string()), std::string::npos);
  EXPECT_FALSE(read_trace(testing::TempDir(), 3).has_value());
}

}  // namespace
}  // namespace ballast::sim
