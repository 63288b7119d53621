#include "ballast/assembly/parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ballast/base/parallel.h"

namespace ballast::assembly {
namespace {

TEST(ServerThreads, AreThoseThatHaveEnoughToDo) {
  EXPECT_EQ(server_threads(9, 66'230), 1u);
  EXPECT_EQ(server_threads(200, 66'230), 1u);
  EXPECT_EQ(server_threads(0, 0), 1u);
  EXPECT_EQ(server_threads(17, 1'000'000), std::min<std::size_t>(2, hardware_threads()));
  // The step along one row is work for several, too.
  EXPECT_EQ(server_threads(1, 10'000'000), std::min<std::size_t>(5, hardware_threads()));
  EXPECT_EQ(server_threads(4096, 1'000'000'000), hardware_threads());
}

}  // namespace
}  // namespace ballast::assembly
