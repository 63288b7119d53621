// The short form of robust::aggregate: a rule as text, rows as vectors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ballast/robust/aggregate.h"

namespace ballast::robust {
namespace {

using Rows = std::vector<std::vector<float>>;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view rule, const Rows& rows, const std::vector<double>& weights) {
  const auto result = aggregate(rule, rows, weights);
  return result ? "no error" : result.error().message;
}

TEST(AggregateText, GivesTheResultAndWhatWasKept) {
  const auto result =
      aggregate("ctma(cwmed, 0.25)", Rows{{1, 4}, {3, 4}, {9, 9}}, std::vector<double>{1, 2, 1});

  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->values, ElementsAre(testing::FloatEq(7.0f / 3.0f), 4.0f));
  EXPECT_THAT(result->report.kept, ElementsAre(1.0, 1.0, 0.0));
}

TEST(AggregateText, DrawsAsTheOptionsSay) {
  const Rows rows = {{1}, {2}, {4}, {8}, {16}, {32}};
  const std::vector<double> weights(6, 1.0);
  std::vector<std::vector<float>> results;
  for (std::uint64_t draw = 0; draw < 8; ++draw) {
    const auto once = aggregate("bucketing(cwmed, 2)", rows, weights, {.draw = draw});
    const auto again = aggregate("bucketing(cwmed, 2)", rows, weights, {.draw = draw});
    ASSERT_TRUE(once && again);
    EXPECT_EQ(once->values, again->values);
    results.push_back(once->values);
  }

  EXPECT_THAT(results, testing::Contains(testing::Ne(results[0])));
}

TEST(AggregateText, SaysWhatIsWrong) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  EXPECT_THAT(error_of("men", {{1}}, {1}), HasSubstr("did you mean 'mean'?"));
  EXPECT_THAT(error_of("mean", {{1, 2}, {1, 2}, {1}}, {1, 1, 1}), HasSubstr("row 2 has 1"));
  EXPECT_THAT(error_of("mean", {}, {}), HasSubstr("nothing to aggregate"));
  EXPECT_THAT(error_of("mean", {{}, {}}, {1, 1}), HasSubstr("nothing to aggregate"));
  EXPECT_THAT(error_of("mean", {{1}, {2}}, {1}), HasSubstr("2 rows but 1 weights"));
  EXPECT_THAT(error_of("mean", {{1}, {2}}, {1, 0}), HasSubstr("weight"));
  EXPECT_THAT(error_of("mean", {{1}, {kNan}}, {1, 1}), HasSubstr("row 1 holds a NaN"));
}

}  // namespace
}  // namespace ballast::robust
