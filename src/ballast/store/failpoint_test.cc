#include "ballast/store/failpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>

#include "ballast/files/test_support.h"

namespace ballast::store {
namespace {

using files::refusal;

class FailpointTest : public testing::Test {
 protected:
  void TearDown() override { clear_failpoint(); }
};

TEST_F(FailpointTest, ActsAtItsHitAndOnlyThen) {
  ASSERT_TRUE(set_failpoint("sync:3:enospc").has_value());
  const auto reach = [](const char* name) { return BALLAST_FAILPOINT(name); };
  EXPECT_EQ(reach("sync"), 0);
  EXPECT_EQ(reach("write"), 0);
  EXPECT_EQ(reach("sync"), 0);
  EXPECT_EQ(reach("sync"), ENOSPC);
  EXPECT_EQ(reach("sync"), 0);
  EXPECT_EQ(failpoint_hits(), 4u);
}

TEST_F(FailpointTest, AnyCountsAllOfThem) {
  ASSERT_TRUE(set_failpoint("any:2:eio").has_value());
  EXPECT_EQ(BALLAST_FAILPOINT("sync"), 0);
  EXPECT_EQ(BALLAST_FAILPOINT("write"), EIO);
}

TEST_F(FailpointTest, DoesNothingWhenCleared) {
  ASSERT_TRUE(set_failpoint("sync:1:eio").has_value());
  clear_failpoint();
  EXPECT_EQ(BALLAST_FAILPOINT("sync"), 0);
}

TEST_F(FailpointTest, CanComeFromTheEnvironment) {
  ::unsetenv("BALLAST_FAILPOINT");
  EXPECT_TRUE(set_failpoint_from_environment().has_value());
  EXPECT_FALSE(is_failpoint_set);
  ::setenv("BALLAST_FAILPOINT", "link:1:eio", 1);
  EXPECT_TRUE(set_failpoint_from_environment().has_value());
  ::unsetenv("BALLAST_FAILPOINT");
  EXPECT_EQ(BALLAST_FAILPOINT("link"), EIO);
}

TEST_F(FailpointTest, AWrongTextIsRefused) {
  EXPECT_EQ(refusal(set_failpoint("snyc:1:eio")),
            "there is no failpoint 'snyc'; did you mean 'sync'?");
  EXPECT_NE(refusal(set_failpoint("sync:0:eio")).find("from 1 on"), std::string::npos);
  EXPECT_NE(refusal(set_failpoint("sync:x:eio")).find("from 1 on"), std::string::npos);
  EXPECT_NE(refusal(set_failpoint("sync:1:stop")).find("kill, eio or enospc"), std::string::npos);
  EXPECT_NE(refusal(set_failpoint("sync")).find("NAME:HIT:ACTION"), std::string::npos);
  EXPECT_EQ(BALLAST_FAILPOINT("sync"), 0);
}

}  // namespace
}  // namespace ballast::store
