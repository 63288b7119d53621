#include "ballast/base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>

namespace ballast {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("gm", "gm"), 0u);
}

TEST(NearestWord, FindsTheIntendedName) {
  constexpr std::array<std::string_view, 4> kKnown = {"mean", "cwmed", "gm", "krum"};
  EXPECT_EQ(nearest_word("cwmd", kKnown), "cwmed");
  EXPECT_EQ(nearest_word("krun", kKnown), "krum");
}

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  constexpr std::array<std::string_view, 2> kKnown = {"mean", "cwmed"};
  EXPECT_EQ(nearest_word("federated", kKnown), std::nullopt);
  EXPECT_EQ(nearest_word("x", {}), std::nullopt);
}

}  // namespace
}  // namespace ballast
