#include "ballast/service/quorum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::service {
namespace {

using testing::HasSubstr;

Status checked(const server::WeightPolicy& weights, std::size_t workers) {
  return check_quorum(quorum_facts(weights, workers, 0), 0);
}

// One liar of four that stays away would leave three, and the cap of 0.3 needs four.
TEST(Quorum, ARunThatTheLiarsCanStopByStayingAwayIsRefused) {
  const server::CappedWeights weights{.f = 1, .share = 0.3};
  EXPECT_THAT(checked(weights, 4).error().message, HasSubstr("at least 5 workers"));
  EXPECT_TRUE(checked(weights, 5));
  EXPECT_TRUE(checked(server::CappedWeights{.f = 1, .share = 0.34}, 4));
  EXPECT_FALSE(checked(server::CappedWeights{.f = 2, .share = 0.25}, 9));
  EXPECT_TRUE(checked(server::CappedWeights{.f = 2, .share = 0.25}, 10));
}

TEST(Quorum, WeightsThatNeedNobodyInParticularAreNeverRefused) {
  EXPECT_TRUE(checked(server::CountWeights{}, 1));
  EXPECT_TRUE(checked(server::UniformWeights{}, 1));
}

TEST(Quorum, NoSlackIsWarnedOf) {
  const server::CappedWeights weights{.f = 1, .share = 0.2};
  const auto warning = [&](std::size_t workers) {
    return weights_warning(weights, quorum_facts(weights, workers, 0));
  };
  EXPECT_THAT(warning(6).value_or(""), HasSubstr("no slack"));
  EXPECT_FALSE(warning(7));
}

TEST(Quorum, CountsAreWarnedOfWhereOneWorkerCanOutweighAnother) {
  const server::CountWeights weights;
  EXPECT_THAT(weights_warning(weights, quorum_facts(weights, 2, 0)).value_or(""),
              HasSubstr("any share"));
  EXPECT_FALSE(weights_warning(weights, quorum_facts(weights, 1, 0)));
}

TEST(Quorum, MoreWorkersMayBeAskedForThanTheWeightsNeed) {
  const server::CappedWeights weights{.f = 1, .share = 0.34};
  EXPECT_EQ(quorum_facts(weights, 6, 5).quorum, 5u);
  EXPECT_EQ(quorum_facts(weights, 6, 2).quorum, 3u);
  EXPECT_TRUE(check_quorum(quorum_facts(weights, 6, 6), 6));
  EXPECT_THAT(weights_warning(weights, quorum_facts(weights, 6, 6)).value_or(""),
              HasSubstr("6 of 6"));
  EXPECT_THAT(check_quorum(quorum_facts(weights, 6, 7), 7).error().message, HasSubstr("has 6"));
}

}  // namespace
}  // namespace ballast::service
