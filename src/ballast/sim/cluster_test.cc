#include "ballast/sim/cluster.h"

#include <gtest/gtest.h>

#include "ballast/sim/schedule.h"
#include "ballast/sim/test_cluster.h"

namespace ballast::sim {
namespace {

TEST(Cluster, DeliversEveryArrival) {
  TestCluster cluster({.workers = {.honest = 3, .byzantine = 2}});
  const auto arrivals =
      draw_arrivals({.workers = {.honest = 3, .byzantine = 2}, .share = 0.4}, 50).value();
  const RunResult result = cluster.run(arrivals).value();
  EXPECT_EQ(result.ending, Ending::kComplete);
  EXPECT_EQ(result.arrivals, 50u);
  EXPECT_EQ(result.byzantine_arrivals, 20u);
  EXPECT_EQ(cluster.server().model().version, 50u);
  EXPECT_EQ(result.gradient_seconds.size(), 5u);
}

}  // namespace
}  // namespace ballast::sim
