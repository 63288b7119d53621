#include "ballast/server/weight_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "ballast/base/rng.h"

namespace ballast::server {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers weights_of(const WeightPolicy& policy, const Numbers& counts) {
  Numbers weights(counts.size(), 77);
  assign_weights(policy, counts, weights);
  return weights;
}

Numbers in_units(const std::vector<double>& updates) {
  Numbers units;
  for (const double update : updates) {
    units.push_back(static_cast<std::uint64_t>(update * kWeightUnits));
  }
  return units;
}

std::string message(const WeightPolicy& policy, std::size_t workers) {
  const Status status = validate(policy, workers);
  return status ? "" : status.error().message;
}

TEST(WeightPolicy, CountsWeighWhatTheyCount) {
  EXPECT_EQ(weights_of(CountWeights{}, {3, 0, 7}), in_units({3, 0, 7}));
}

TEST(WeightPolicy, UniformWeightsAreOneForEveryWorkerWithARow) {
  EXPECT_EQ(weights_of(UniformWeights{}, {3, 0, 7}), in_units({1, 0, 1}));
}

// c / (40 + c) <= 0.3 up to c = 120/7 = 17.142857; in units of 1/1024: 17554.
TEST(WeightPolicy, TheCapIsTheLargestThatKeepsTheShare) {
  const Numbers weights = weights_of(CappedWeights{.f = 1, .share = 0.3}, {100, 10, 10, 10, 10});
  EXPECT_EQ(weights, (Numbers{17554, 10240, 10240, 10240, 10240}));
}

TEST(WeightPolicy, CountsThatKeepTheShareAreNotCut) {
  const Numbers counts = {4, 3, 3, 3, 3};
  EXPECT_EQ(weights_of(CappedWeights{.f = 1, .share = 0.25}, counts), in_units({4, 3, 3, 3, 3}));
}

// Two heaviest of six at 1/3: with cap c they weigh 2c of 2c + 8 (the others 2 each): c = 2.
TEST(WeightPolicy, TheHeaviestAreCountedTogether) {
  const Numbers weights =
      weights_of(CappedWeights{.f = 2, .share = 1.0 / 3.0}, {50, 9, 2, 2, 2, 2});
  EXPECT_EQ(weights, in_units({2, 2, 2, 2, 2, 2}));
}

TEST(WeightPolicy, BelowTheQuorumThereAreNoWeights) {
  const CappedWeights policy{.f = 1, .share = 0.2};
  EXPECT_EQ(quorum(policy), 5u);
  Numbers weights(6, 77);
  EXPECT_FALSE(assign_weights(policy, Numbers{9, 1, 1, 1, 0, 0}, weights));
  EXPECT_EQ(weights, Numbers(6, 0));
  EXPECT_TRUE(assign_weights(policy, Numbers{9, 1, 1, 1, 1, 0}, weights));
  EXPECT_EQ(weights, in_units({1, 1, 1, 1, 1, 0}));
}

TEST(WeightPolicy, TheQuorumIsTheSmallestNumberOfRowsWithEnoughShare) {
  EXPECT_EQ(quorum(CountWeights{}), 1u);
  EXPECT_EQ(quorum(CappedWeights{.f = 1, .share = 1.0 / 3.0}), 3u);
  EXPECT_EQ(quorum(CappedWeights{.f = 12, .share = 1.0 / 3.0}), 36u);
  EXPECT_EQ(quorum(CappedWeights{.f = 4, .share = 0.4}), 10u);
  EXPECT_EQ(quorum(CappedWeights{.f = 3, .share = 0.45}), 7u);
}

// The two statements of the policy, over many tables: the f heaviest keep within the share, and one
// unit more on the cap would break it.
TEST(WeightPolicy, NoFWorkersEverHoldMoreThanTheShareAndNoLargerCapWouldDo) {
  Rng rng(20);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed 20, round " + std::to_string(round));
    const std::size_t f = 1 + rng.below(4);
    const double share = 0.1 + 0.39 * rng.uniform();
    const CappedWeights policy{.f = f, .share = share};
    Numbers counts(quorum(policy) + rng.below(20));
    for (auto& count : counts) count = 1 + rng.below(rng.below(3) == 0 ? 100'000 : 40);
    const Numbers weights = weights_of(policy, counts);
    EXPECT_LE(share_of_heaviest(f, weights), share);
    const std::uint64_t cap = std::ranges::max(weights);
    Numbers larger = counts;
    for (auto& weight : larger) weight = std::min(weight * kWeightUnits, cap + 1);
    if (larger != weights) {
      EXPECT_GT(share_of_heaviest(f, larger), share);
    }
  }
}

TEST(WeightPolicy, ImpossiblePoliciesAreRefused) {
  EXPECT_TRUE(validate(CountWeights{}, 1));
  EXPECT_TRUE(validate(CappedWeights{.f = 1, .share = 0.2}, 5));
  EXPECT_NE(message(CappedWeights{.f = 1, .share = 0.2}, 4).find("at least 5 workers"),
            std::string::npos);
  EXPECT_NE(message(CappedWeights{.f = 0, .share = 0.2}, 4).find("f >= 1"), std::string::npos);
  for (const double share : {0.0, -0.1, 0.5, 1.0}) {
    EXPECT_NE(message(CappedWeights{.f = 1, .share = share}, 99).find("between 0 and 1/2"),
              std::string::npos);
  }
}

TEST(WeightPolicy, TheShareOfNothingIsZero) {
  EXPECT_EQ(share_of_heaviest(1, Numbers{0, 0}), 0.0);
  EXPECT_EQ(share_of_heaviest(5, Numbers{1, 3}), 1.0);
  EXPECT_EQ(share_of_heaviest(1, Numbers{1, 3}), 0.75);
}

}  // namespace
}  // namespace ballast::server
