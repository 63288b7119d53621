#include "ballast/transport/notices.h"

#include <gtest/gtest.h>

namespace ballast::transport {
namespace {

using Kind = Notice::Kind;
using std::chrono::seconds;

constexpr Notices::Time kStart{seconds(1'000)};

TEST(Notices, ThoseOfOnePeerAreCountedTogetherWithTheLastReason) {
  Notices notices;
  for (int i = 1; i <= 5; ++i) notices.add(Kind::kJoinRefused, "w1", std::to_string(i));
  notices.add(Kind::kJoinRefused, "w2", "another network");
  EXPECT_EQ(notices.next(kStart), (Notice{Kind::kJoinRefused, "w1", "5", 5}));
  EXPECT_EQ(notices.next(kStart), (Notice{Kind::kJoinRefused, "w2", "another network", 1}));
  EXPECT_EQ(notices.next(kStart), std::nullopt);
}

TEST(Notices, ComeAtABoundedRate) {
  Notices notices;
  for (int i = 0; i < 50; ++i) notices.add(Kind::kCallRefused, std::to_string(i), "why");
  int told = 0;
  while (notices.next(kStart)) ++told;
  EXPECT_EQ(told, 20);
  while (notices.next(kStart + seconds(10))) ++told;
  EXPECT_EQ(told, 30);
}

TEST(Notices, OnlySoManyWait) {
  Notices notices;
  for (int i = 0; i < 1000; ++i) notices.add(Kind::kCallRefused, std::to_string(i), "why");
  EXPECT_EQ(notices.left_out_count(), 1000u - 64u);
  // What is the server's own is heard nevertheless.
  notices.add(Kind::kDenyListUnreadable, "", "gone");
  EXPECT_EQ(notices.next(kStart), (Notice{Kind::kDenyListUnreadable, "", "gone", 1}));
}

}  // namespace
}  // namespace ballast::transport
