#include "ballast/base/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ballast {
namespace {

TEST(ParallelFor, RunsEveryIndexOnce) {
  for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
    for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<int> runs(count, 0);
      parallel_for(threads, count, [&](std::size_t index) { ++runs[index]; });
      EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), 0), static_cast<int>(count));
      for (const int run : runs) EXPECT_EQ(run, 1) << threads << " threads, " << count << " tasks";
    }
  }
}

TEST(ParallelFor, WritesOfTheTasksAreVisibleAfterwards) {
  std::vector<std::size_t> squares(256);
  for (int repeat = 0; repeat < 50; ++repeat) {
    parallel_for(4, squares.size(), [&](std::size_t i) { squares[i] += i * i; });
  }
  for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], 50 * i * i);
}

TEST(HardwareThreads, IsAtLeastOne) { EXPECT_GE(hardware_threads(), 1u); }

}  // namespace
}  // namespace ballast
