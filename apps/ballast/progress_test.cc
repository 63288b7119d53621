#include "apps/ballast/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace ballast::apps {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string text_of(const File& file) {
  std::rewind(file.get());
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

TEST(ProgressLine, ShowsBarCountRateAndTimeLeft) {
  // 1200 of 2800 in 3 s: 400 per second, 1600 left for 4 s; 24 * 3/7 = 10.3 cells, 42.9 per cent.
  EXPECT_EQ(progress_line({.text = "gm", .done = 1200, .total = 2800, .elapsed = seconds(3)}),
            "[##########..............]  42 %  1200/2800 updates  400/s  0:00:04 left  gm");
}

TEST(ProgressLine, KnowsNoRateAtTheStart) {
  EXPECT_EQ(progress_line({.total = 5, .elapsed = seconds(3)}),
            "[........................]   0 %  0/5 updates");
}

TEST(ProgressLine, LooksDoneOnlyWhenItIs) {
  EXPECT_THAT(progress_line({.done = 999'999, .total = 1'000'000}),
              StartsWith("[#######################.]  99 %"));
  EXPECT_EQ(progress_line({.unit = "runs", .done = 9, .total = 9, .elapsed = seconds(3725)}),
            "[########################] 100 %  9/9 runs  0.0/s  1:02:05");
}

TEST(ProgressLine, DoesNotCountWhatWasThereBefore) {
  // 10 of the 60 took 5 s, so the other 40 take 20 s.
  EXPECT_THAT(progress_line({.done = 60, .total = 100, .resumed = 50, .elapsed = seconds(5)}),
              EndsWith("  2.0/s  0:00:20 left"));
}

TEST(ProgressLine, SurvivesSillyNumbers) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  EXPECT_THAT(progress_line({.done = 1, .total = kHuge, .elapsed = seconds(9)}),
              HasSubstr("more than 100 h left"));
  EXPECT_THAT(progress_line({.done = kHuge, .total = 1, .elapsed = seconds(9)}),
              HasSubstr("100 %"));
  EXPECT_THAT(progress_line({.done = 0, .total = 0}), HasSubstr("100 %"));
}

TEST(ProgressLine, LetsNoTextSteerTheTerminal) {
  EXPECT_THAT(progress_line({.text = "a\n\x1B[2J", .total = 1}), EndsWith("  a??[2J"));
}

TEST(CutToColumns, NeverCutsWithinACharacter) {
  const std::string omega = "\xCF\x89";
  EXPECT_EQ(cut_to_columns("a" + omega + omega, 2), "a" + omega);
  EXPECT_EQ(cut_to_columns("a" + omega, 5), "a" + omega);
  EXPECT_EQ(cut_to_columns("abc", 0), "");
}

TEST(Progress, WritesALineAtEachTenthIntoAFile) {
  const File file(std::tmpfile());
  Progress progress(1000, "updates", file.get());
  progress.set_text("run");
  for (int i = 0; i < 1000; ++i) progress.add(1);
  progress.finish();

  const std::string text = text_of(file);
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);
  EXPECT_THAT(text, StartsWith("[##......................]  10 %  100/1000 updates"));
  EXPECT_THAT(text, HasSubstr("100 %  1000/1000 updates"));
  EXPECT_THAT(text, Not(HasSubstr("\x1B")));
}

TEST(Progress, DoesNotRepeatTheTenthsOfAnEarlierRun) {
  const File file(std::tmpfile());
  Progress progress(10, "runs", file.get());
  progress.resume(7);
  progress.add(1);

  EXPECT_THAT(text_of(file), testing::AllOf(HasSubstr("8/10 runs"), Not(HasSubstr("7/10"))));
}

TEST(Progress, CountsWhatManyThreadsAdd) {
  const File file(std::tmpfile());
  Progress progress(4000, "updates", file.get());
  std::vector<std::jthread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&progress] {
      for (int i = 0; i < 1000; ++i) progress.add(1);
    });
  }
  threads.clear();
  progress.finish();
  progress.add(1);  // draws nothing any more

  const std::string text = text_of(file);
  EXPECT_EQ(std::ranges::count(text, '\n'), 10);
  EXPECT_THAT(text, HasSubstr("4000/4000"));
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (screen < 0 || ::grantpt(screen) != 0 || ::unlockpt(screen) != 0) {
    GTEST_SKIP() << "no pseudo-terminals here";
  }
  const File terminal(std::fopen(::ptsname(screen), "w"));
  ASSERT_TRUE(terminal);
  {
    Progress progress(1000, "updates", terminal.get());
    for (int i = 0; i < 1000; ++i) progress.add(1);
  }
  std::string text;
  std::array<char, 4096> buffer;
  while (text.find('\n') == std::string::npos) {
    const ssize_t size = ::read(screen, buffer.data(), buffer.size());
    ASSERT_GT(size, 0);
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ::close(screen);

  EXPECT_THAT(text, StartsWith("\r[......"));
  EXPECT_THAT(text, HasSubstr("1000/1000 updates"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_LT(std::ranges::count(text, '['), 50);  // far fewer drawings than additions
}

}  // namespace
}  // namespace ballast::apps
