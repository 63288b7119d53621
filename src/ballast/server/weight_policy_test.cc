#include "ballast/server/weight_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
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

// One worker at most 0.2 and three at most 0.45, of ten: against one fast worker the first cap
// decides, against three the second.
TEST(WeightPolicy, SeveralCapsHoldAtOnce) {
  const CappedWeights one{.f = 1, .share = 0.2}, three{.f = 3, .share = 0.45};
  const SeveralCaps both{.caps = {one, three}};
  const Numbers counts = {900, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_EQ(std::ranges::max(weights_of(both, counts)), std::ranges::max(weights_of(one, counts)));
  const Numbers crowd = {30, 30, 30, 4, 4, 4, 4, 4, 4, 4};
  EXPECT_EQ(weights_of(both, crowd), weights_of(three, crowd));
  EXPECT_LE(share_of_heaviest(1, weights_of(both, crowd)), 0.2);
  EXPECT_GT(share_of_heaviest(3, weights_of(one, crowd)), 0.45);
}

// Every cut is tried, in whole numbers: shares are multiples of 1/64, so nothing is rounded.
TEST(WeightPolicy, SeveralCapsAreCutWhereTryingEveryCutSays) {
  Rng rng(21);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed 21, round " + std::to_string(round));
    SeveralCaps policy;
    std::vector<std::uint64_t> of_64;
    for (std::uint64_t left = 1 + rng.below(3); left > 0; --left) {
      of_64.push_back(8 + rng.below(23));
      policy.caps.push_back(
          {.f = 1 + rng.below(4), .share = static_cast<double>(of_64.back()) / 64.0});
    }
    Numbers counts(quorum(policy) + rng.below(6));
    for (auto& count : counts) count = 1 + rng.below(rng.below(4) == 0 ? 12 : 3);
    const auto holds_at = [&](std::uint64_t cut) {
      Numbers sorted;
      for (const auto count : counts) sorted.push_back(std::min(count * kWeightUnits, cut));
      std::ranges::sort(sorted, std::greater<>());
      const auto all = std::accumulate(sorted.begin(), sorted.end(), std::uint64_t{0});
      for (std::size_t j = 0; j < policy.caps.size(); ++j) {
        const auto heaviest = std::accumulate(
            sorted.begin(), sorted.begin() + std::ptrdiff_t(policy.caps[j].f), std::uint64_t{0});
        if (heaviest * 64 > of_64[j] * all) return false;
      }
      return true;
    };
    std::uint64_t cut = std::ranges::max(counts) * kWeightUnits;
    while (!holds_at(cut)) --cut;
    Numbers expected;
    for (const auto count : counts) expected.push_back(std::min(count * kWeightUnits, cut));
    EXPECT_EQ(weights_of(policy, counts), expected);
  }
}

// What the proof beside largest_cut() says.
TEST(WeightPolicy, TheCommonCutIsTheSmallestOfTheCaps) {
  Rng rng(22);
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("seed 22, round " + std::to_string(round));
    SeveralCaps policy;
    for (std::uint64_t left = 1 + rng.below(4); left > 0; --left) {
      policy.caps.push_back({.f = 1 + rng.below(5), .share = 0.1 + 0.39 * rng.uniform()});
    }
    Numbers counts(quorum(policy) + rng.below(20));
    for (auto& count : counts) count = 1 + rng.below(rng.below(3) == 0 ? 100'000 : 40);
    std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
    for (const CappedWeights& cap : policy.caps) {
      smallest = std::min(smallest, std::ranges::max(weights_of(cap, counts)));
    }
    EXPECT_EQ(std::ranges::max(weights_of(policy, counts)), smallest);
    if (policy.caps.size() == 1) {
      EXPECT_EQ(weights_of(policy, counts), weights_of(policy.caps.front(), counts));
    }
  }
}

TEST(WeightPolicy, TheQuorumOfSeveralCapsIsTheLargest) {
  const SeveralCaps policy{.caps = {{.f = 1, .share = 0.2}, {.f = 8, .share = 0.45}}};
  EXPECT_EQ(quorum(policy), 18u);
  EXPECT_NE(message(policy, 17).find("keeps 8 of 17 workers"), std::string::npos);
  EXPECT_TRUE(validate(policy, 18));
  Numbers weights(18);
  EXPECT_FALSE(assign_weights(policy, Numbers{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                              weights));
}

TEST(WeightPolicy, TheWidestCapIsTheOneOnTheMostWorkers) {
  EXPECT_EQ(widest_cap(CountWeights{}), nullptr);
  const WeightPolicy policy =
      SeveralCaps{{{.f = 1, .share = 0.2}, {.f = 8, .share = 0.45}, {.f = 8, .share = 0.4}}};
  EXPECT_EQ(widest_cap(policy)->f, 8u);
  EXPECT_EQ(widest_cap(policy)->share, 0.4);
}

TEST(WeightPolicy, IsReadFromAText) {
  EXPECT_TRUE(std::holds_alternative<CountWeights>(parse_weight_policy("count").value()));
  EXPECT_TRUE(std::holds_alternative<UniformWeights>(parse_weight_policy("uniform").value()));
  const auto one = std::get<CappedWeights>(parse_weight_policy("f-cap(2, 1/3)").value());
  EXPECT_EQ(one.f, 2u);
  EXPECT_EQ(one.share, 1.0 / 3.0);
  const auto absent = std::get<CappedWeights>(parse_weight_policy("f-cap").value());
  EXPECT_EQ(absent.f, 1u);
  EXPECT_EQ(absent.share, 0.2);
  const auto both = parse_weight_policy("f-cap(1, 0.2) & f-cap(share=0.45, f=8)").value();
  ASSERT_EQ(caps_of(both).size(), 2u);
  EXPECT_EQ(caps_of(both)[1].f, 8u);
  EXPECT_EQ(caps_of(both)[1].share, 0.45);
}

TEST(WeightPolicy, WrongTextsArePointedAt) {
  const auto complaint = [](std::string_view text) {
    const auto policy = parse_weight_policy(text);
    return policy ? "accepted" : policy.error().message;
  };
  EXPECT_EQ(complaint("f-cup(1, 0.2)"),
            "there is no weight policy 'f-cup'; did you mean 'f-cap'? at column 1\n"
            "  f-cup(1, 0.2)\n"
            "  ^");
  EXPECT_THAT(complaint("f-cap(0, 0.2)"),
              testing::StartsWith("f must be a whole number from 1, not 0 at column 7"));
  EXPECT_THAT(complaint("f-cap(1, 0.2) & f-cap(3, 0.5)"),
              testing::StartsWith("share must be above 0 and below 1/2, not 0.5 at column 26"));
  EXPECT_THAT(complaint("f-cap & count"),
              testing::StartsWith("'count' cannot be joined with others by '&' at column 9"));
}

TEST(WeightPolicy, ImpossiblePoliciesAreRefused) {
  EXPECT_TRUE(validate(CountWeights{}, 1));
  EXPECT_TRUE(validate(CappedWeights{.f = 1, .share = 0.2}, 5));
  EXPECT_NE(message(CappedWeights{.f = 1, .share = 0.2}, 4).find("at least 5 workers"),
            std::string::npos);
  EXPECT_NE(message(CappedWeights{.f = 0, .share = 0.2}, 4).find("f >= 1"), std::string::npos);
  EXPECT_EQ(
      message(CappedWeights{.f = 1, .share = 1e-300}, 4),
      "no cap keeps 1 of 4 workers below a share of 1e-300; use a smaller f or a larger share");
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
