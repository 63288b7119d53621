#include "ballast/robust/workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace ballast::robust {
namespace {

TEST(Workspace, GivesMemoryThatDoesNotOverlap) {
  Workspace workspace;
  const auto small = workspace.take<double>(3, 1.0);
  const auto large = workspace.take<float>(100'000, 2.0f);
  const auto after = workspace.take<std::uint8_t>(1, std::uint8_t{3});
  EXPECT_TRUE(std::ranges::all_of(small, [](double value) { return value == 1.0; }));
  EXPECT_TRUE(std::ranges::all_of(large, [](float value) { return value == 2.0f; }));
  EXPECT_EQ(after[0], 3);
}

TEST(Workspace, StartsEachPieceOnACacheLine) {
  Workspace workspace;
  for (const std::size_t count : {1u, 7u, 64u, 65u, 10'000u}) {
    const auto taken = workspace.take<std::uint8_t>(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.data()) % kCacheLineBytes, 0u);
    EXPECT_EQ(taken.size(), count);
  }
}

TEST(Workspace, GivesTheSameMemoryAgainAfterAReset) {
  Workspace workspace;
  const auto take_some = [&] {
    return std::pair{workspace.take<double>(1000).data(), workspace.take<double>(2000).data()};
  };
  take_some();
  workspace.reset();  // joins the pieces
  const auto once = take_some();
  workspace.reset();
  EXPECT_EQ(take_some(), once);
}

TEST(Workspace, TakesNothingWithoutComplaint) {
  Workspace workspace;
  EXPECT_TRUE(workspace.take<double>(0).empty());
  workspace.reset();
  EXPECT_TRUE(workspace.take<double>(0).empty());
}

TEST(Workspace, KeepsSeveralListsOfWeightsApart) {
  Workspace workspace;
  kernels::Weights& first = workspace.take_weights();
  first.assign_equal(3);
  kernels::Weights& second = workspace.take_weights();
  second.assign_equal(5);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(second.size(), 5u);
  workspace.reset();
  EXPECT_EQ(&workspace.take_weights(), &first);
}

}  // namespace
}  // namespace ballast::robust
