#include "ballast/data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ballast/data/dataset.h"

namespace ballast::data {
namespace {

std::vector<std::vector<std::uint32_t>> parts_of(const Partition& partition) {
  std::vector<std::vector<std::uint32_t>> parts(partition.worker_count());
  for (std::size_t w = 0; w < parts.size(); ++w) {
    for (std::size_t k = 0; k < partition.size(w); ++k) parts[w].push_back(partition.sample(w, k));
  }
  return parts;
}

// Every sample in exactly one part, and no part empty.
void expect_exact_cover(const Partition& partition, std::size_t sample_count) {
  std::set<std::uint32_t> seen;
  std::size_t assigned = 0;
  for (const auto& part : parts_of(partition)) {
    EXPECT_FALSE(part.empty());
    assigned += part.size();
    seen.insert(part.begin(), part.end());
  }
  EXPECT_EQ(assigned, sample_count);
  EXPECT_EQ(seen.size(), sample_count);
  EXPECT_LT(*seen.rbegin(), sample_count);
}

// `per_class` samples of each of `class_count` classes, interleaved.
std::vector<int> balanced_labels(int class_count, int per_class) {
  std::vector<int> labels;
  for (int i = 0; i < per_class; ++i) {
    for (int label = 0; label < class_count; ++label) labels.push_back(label);
  }
  return labels;
}

// Mean over workers of the share of the commonest class in the worker's part.
double mean_purity(const Partition& partition, const std::vector<int>& labels, int class_count) {
  double sum = 0.0;
  for (const auto& part : parts_of(partition)) {
    std::vector<double> histogram(static_cast<std::size_t>(class_count));
    for (const std::uint32_t i : part) ++histogram[static_cast<std::size_t>(labels[i])];
    sum += *std::max_element(histogram.begin(), histogram.end()) / static_cast<double>(part.size());
  }
  return sum / static_cast<double>(partition.worker_count());
}

TEST(Partition, SharedGivesEveryWorkerTheWholeSet) {
  const Partition partition = Partition::shared(5, 3).value();
  const std::vector<std::uint32_t> everything = {0, 1, 2, 3, 4};
  EXPECT_EQ(parts_of(partition),
            (std::vector<std::vector<std::uint32_t>>{everything, everything, everything}));
}

TEST(Partition, EvenSplitCoversExactlyAndEvenly) {
  for (const std::size_t worker_count : {1u, 2u, 7u, 100u}) {
    SCOPED_TRACE(testing::Message() << "seed 3, workers " << worker_count);
    const Partition partition = Partition::even_split(100, worker_count, 3).value();
    expect_exact_cover(partition, 100);
    for (std::size_t w = 0; w < worker_count; ++w) {
      EXPECT_GE(partition.size(w), 100 / worker_count);
      EXPECT_LE(partition.size(w), 100 / worker_count + 1);
    }
  }
}

TEST(Partition, EvenSplitIsAFunctionOfTheSeed) {
  EXPECT_EQ(parts_of(*Partition::even_split(50, 4, 1)), parts_of(*Partition::even_split(50, 4, 1)));
  EXPECT_NE(parts_of(*Partition::even_split(50, 4, 1)), parts_of(*Partition::even_split(50, 4, 2)));
}

TEST(Partition, DirichletCoversExactlyForEveryAlpha) {
  const std::vector<int> labels = balanced_labels(10, 60);
  for (const double alpha : {kDirichletAlphaMin, 0.01, 0.1, 1.0, 100.0, kDirichletAlphaMax}) {
    for (const std::size_t worker_count : {1u, 2u, 17u, 600u}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << "alpha " << alpha << ", workers " << worker_count << ", seed " << seed);
        const auto partition = Partition::dirichlet(
            labels, {.worker_count = worker_count, .alpha = alpha, .seed = seed});
        ASSERT_TRUE(partition) << partition.error().message;
        expect_exact_cover(*partition, labels.size());
      }
    }
  }
}

TEST(Partition, DirichletGrowsPurerAsAlphaFalls) {
  const std::vector<int> labels = balanced_labels(10, 500);
  const auto purity = [&](double alpha) {
    return mean_purity(
        *Partition::dirichlet(labels, {.worker_count = 10, .alpha = alpha, .seed = 5}), labels, 10);
  };
  EXPECT_NEAR(purity(1e5), 0.1, 0.01);
  EXPECT_GT(purity(1.0), 0.15);
  EXPECT_LT(purity(1.0), 0.5);
  EXPECT_GT(purity(0.01), 0.7);
}

// One class over m workers: worker 0's share of it is Beta(alpha, (m - 1) alpha), with mean 1 / m
// and variance (m - 1) / (m^2 (m alpha + 1)).
TEST(Partition, DirichletSharesHaveTheMeanAndVarianceOfTheDistribution) {
  constexpr std::size_t kWorkers = 4;
  constexpr int kSeeds = 2000;
  const std::vector<int> labels(1000, 0);
  for (const double alpha : {0.3, 1.0, 5.0}) {
    SCOPED_TRACE(testing::Message() << "alpha " << alpha << ", seeds 0 .. " << kSeeds - 1);
    double sum = 0.0, squares = 0.0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto partition =
          Partition::dirichlet(labels, {.worker_count = kWorkers, .alpha = alpha, .seed = seed});
      const double share = static_cast<double>(partition->size(0)) / 1000.0;
      sum += share;
      squares += share * share;
    }
    const double mean = sum / kSeeds;
    const double variance = squares / kSeeds - mean * mean;
    const double expected_variance = 3.0 / (16.0 * (4.0 * alpha + 1.0));
    EXPECT_NEAR(mean, 0.25, 5.0 * std::sqrt(expected_variance / kSeeds));
    EXPECT_NEAR(variance, expected_variance, 0.15 * expected_variance);
  }
}

TEST(Partition, DirichletIsAFunctionOfTheSeed) {
  const std::vector<int> labels = balanced_labels(3, 20);
  const auto with = [&](std::uint64_t seed) {
    return parts_of(*Partition::dirichlet(labels, {.worker_count = 4, .alpha = 0.5, .seed = seed}));
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1), with(2));
}

TEST(Partition, ShardsCoverExactlyAndHoldFewClasses) {
  const std::vector<int> labels = balanced_labels(10, 60);
  for (const std::size_t shards : {1u, 2u, 3u, 7u}) {
    const Partition partition =
        Partition::shards(labels, {.worker_count = 10, .shards_per_worker = shards}).value();
    expect_exact_cover(partition, labels.size());
    for (const auto& part : parts_of(partition)) {
      EXPECT_NEAR(static_cast<double>(part.size()), 60.0, static_cast<double>(shards));
      std::set<int> classes;
      for (const std::uint32_t i : part) classes.insert(labels[i]);
      EXPECT_LE(classes.size(), 2 * shards);  // a shard may lie across the end of a class
    }
  }
}

// Ten classes of 60 and twenty shards of 30: no shard lies across two classes, so each worker has
// one or two of them.
TEST(Partition, TwoShardsAreAtMostTwoClasses) {
  const std::vector<int> labels = balanced_labels(10, 60);
  const Partition partition = Partition::shards(labels, {.worker_count = 10}).value();
  for (const auto& part : parts_of(partition)) {
    std::set<int> classes;
    for (const std::uint32_t i : part) classes.insert(labels[i]);
    EXPECT_LE(classes.size(), 2u);
  }
}

TEST(Partition, ShardsAreAFunctionOfTheSeed) {
  const std::vector<int> labels = balanced_labels(5, 20);
  const auto parts = [&](std::uint64_t seed) {
    return parts_of(Partition::shards(labels, {.worker_count = 4, .seed = seed}).value());
  };
  EXPECT_EQ(parts(1), parts(1));
  EXPECT_NE(parts(1), parts(2));
}

TEST(Partition, RefusesShardsThatCannotBeCut) {
  const std::vector<int> labels = balanced_labels(2, 5);
  EXPECT_FALSE(Partition::shards(labels, {.worker_count = 3, .shards_per_worker = 0}));
  EXPECT_FALSE(Partition::shards(labels, {.worker_count = 3, .shards_per_worker = 4}));
  EXPECT_TRUE(Partition::shards(labels, {.worker_count = 3, .shards_per_worker = 3}));
  EXPECT_FALSE(Partition::shards(std::vector<int>{0, -1}, {.worker_count = 1}));
  EXPECT_FALSE(Partition::shards({}, {.worker_count = 1}));
}

TEST(Partition, RefusesTheImpossible) {
  const std::vector<int> labels = balanced_labels(2, 2);
  EXPECT_FALSE(Partition::shared(10, 0));
  EXPECT_FALSE(Partition::shared(0, 1));
  EXPECT_FALSE(Partition::shared(10, kWorkerCountMax + 1));
  EXPECT_TRUE(Partition::shared(1, 5));
  EXPECT_FALSE(Partition::even_split(4, 5, 0));
  EXPECT_FALSE(Partition::dirichlet(labels, {.worker_count = 5}));
  EXPECT_FALSE(Partition::dirichlet({}, {.worker_count = 1}));
  EXPECT_FALSE(Partition::dirichlet(labels, {.worker_count = 2, .alpha = 0.0}));
  EXPECT_FALSE(Partition::dirichlet(
      labels, {.worker_count = 2, .alpha = std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_FALSE(Partition::dirichlet(std::vector<int>{0, -1}, {.worker_count = 1}));
  EXPECT_FALSE(Partition::dirichlet(std::vector<int>{0, kClassCountMax}, {.worker_count = 1}));
}

TEST(Partition, SaysHowManySamplesAreMissing) {
  const auto partition = Partition::even_split(4, 5, 0);
  ASSERT_FALSE(partition);
  EXPECT_NE(partition.error().message.find("4 samples cannot be split over 5 workers"),
            std::string::npos);
}

TEST(Partition, HoldsSamplesOutThatNobodyElseHas) {
  const auto shared = Partition::shared(100, 3).value();
  const auto even = Partition::even_split(100, 3, 5).value();
  for (const Partition* before : {&shared, &even}) {
    const auto after = before->held_out(10, 7).value();
    ASSERT_EQ(after.worker_count(), 4u);
    EXPECT_EQ(after.sample_count(), 100u);
    std::set<std::uint32_t> held;
    for (std::size_t i = 0; i < after.size(3); ++i) held.insert(after.sample(3, i));
    EXPECT_EQ(held.size(), 10u);
    for (std::size_t w = 0; w < 3; ++w) {
      std::set<std::uint32_t> expected;
      for (std::size_t i = 0; i < before->size(w); ++i) {
        if (!held.contains(before->sample(w, i))) expected.insert(before->sample(w, i));
      }
      std::set<std::uint32_t> left;
      for (std::size_t i = 0; i < after.size(w); ++i) left.insert(after.sample(w, i));
      EXPECT_EQ(left, expected);
      EXPECT_EQ(left.size(), after.size(w));
    }
  }
}

TEST(Partition, RefusesToHoldOutWhatWouldLeaveAWorkerWithoutSamples) {
  EXPECT_FALSE(Partition::shared(10, 2)->held_out(0, 1).has_value());
  EXPECT_FALSE(Partition::shared(10, 2)->held_out(10, 1).has_value());
  EXPECT_TRUE(Partition::shared(10, 2)->held_out(9, 1).has_value());
  EXPECT_FALSE(Partition::even_split(10, 10, 1)->held_out(1, 1).has_value());
}

}  // namespace
}  // namespace ballast::data
