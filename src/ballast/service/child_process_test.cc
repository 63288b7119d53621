#include "ballast/service/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace ballast::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildProcess shell(const std::string& script) {
  return ChildProcess::start({.command = {"/bin/sh", "-c", script}}).value();
}

TEST(ChildProcess, TellsTheExitCode) { EXPECT_EQ(shell("exit 3").wait(seconds(10)), 3); }

TEST(ChildProcess, AProgramThatIsNotThereEndsAsInAShell) {
  auto child = ChildProcess::start({.command = {"/nowhere/ballast"}}).value();
  EXPECT_EQ(child.wait(seconds(10)), 127);
}

TEST(ChildProcess, TerminatesWhenAsked) {
  ChildProcess child = shell("exec sleep 60");
  EXPECT_FALSE(child.exit_code());
  child.terminate();
  EXPECT_EQ(child.wait(seconds(10)), 128 + SIGTERM);
}

TEST(ChildProcess, IsKilledWhenItDoesNotEndInTime) {
  EXPECT_EQ(shell("exec sleep 60").wait(milliseconds(50)), 128 + SIGKILL);
}

}  // namespace
}  // namespace ballast::service
