#include "ballast/data/program.h"

#include <gtest/gtest.h>

#include "ballast/data/test_files.h"

namespace ballast::data {
namespace {

TEST(Program, SucceedsOnExitStatusZero) { EXPECT_TRUE(run_program({.arguments = {"true"}})); }

TEST(Program, ReportsTheStatusAndTheLastWords) {
  const Status status =
      run_program({.arguments = {"sh", "-c", "echo one; echo the end >&2; exit 3"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "sh failed with exit status 3: one the end");
}

TEST(Program, KeepsOnlyTheEndOfALongOutput) {
  const Status status = run_program(
      {.arguments = {"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo end; exit 1"}});
  ASSERT_FALSE(status);
  EXPECT_LT(status.error().message.size(), 1000u);
  EXPECT_TRUE(status.error().message.ends_with("xxxend")) << status.error().message;
}

TEST(Program, SaysWhatIsNotInstalled) {
  const Status status = run_program({.arguments = {"no-such-program-anywhere"}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(status.error().message, "no-such-program-anywhere is not installed");
}

TEST(Program, PassesArgumentsUntouchedByAnyShell) {
  const TemporaryFolder folder = make_test_folder();
  ASSERT_TRUE(run_program({.arguments = {"touch", "a b; $(c) *"}, .folder = folder.path()}));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a b; $(c) *"));
}

TEST(Program, KillsWhatTakesTooLong) {
  const auto begin = std::chrono::steady_clock::now();
  const Status status =
      run_program({.arguments = {"sleep", "60"}, .time_limit = std::chrono::milliseconds(100)});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("did not finish within 0.1 s"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Program, WaitsForAProgramThatClosedItsOutput) {
  const TemporaryFolder folder = make_test_folder();
  ASSERT_TRUE(run_program(
      {.arguments = {"sh", "-c", "exec >&- 2>&-; sleep 0.2; : > done"}, .folder = folder.path()}));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "done"));
}

TEST(Program, DoesNotWaitForChildrenLeftBehind) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(run_program({.arguments = {"sh", "-c", "sleep 3 & exit 0"}}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace ballast::data
