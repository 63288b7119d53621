#include "ballast/store/checkpoint_policy.h"

#include <gtest/gtest.h>

namespace ballast::store {
namespace {

using std::chrono::seconds;

TEST(CheckpointPolicy, IsDueAfterSoManyUpdates) {
  CheckpointPolicy policy({.every_updates = 10}, 5, seconds(0));
  EXPECT_FALSE(policy.is_due(14, seconds(1000)));
  EXPECT_TRUE(policy.is_due(15, seconds(0)));
  policy.note_saved(17, seconds(1));
  EXPECT_FALSE(policy.is_due(26, seconds(1)));
  EXPECT_TRUE(policy.is_due(27, seconds(1)));
}

TEST(CheckpointPolicy, IsDueAfterSoMuchTimeIfAnythingCameIn) {
  CheckpointPolicy policy({.every_seconds = seconds(60)}, 5, seconds(100));
  EXPECT_FALSE(policy.is_due(6, seconds(159)));
  EXPECT_TRUE(policy.is_due(6, seconds(160)));
  EXPECT_FALSE(policy.is_due(5, seconds(10'000)));
  policy.note_saved(6, seconds(160));
  EXPECT_FALSE(policy.is_due(7, seconds(219)));
  EXPECT_TRUE(policy.is_due(7, seconds(220)));
}

TEST(CheckpointPolicy, WithoutLimitsNothingIsEverDue) {
  const CheckpointPolicy policy({}, 0, seconds(0));
  EXPECT_FALSE(policy.is_due(1'000'000, seconds(1'000'000)));
}

}  // namespace
}  // namespace ballast::store
