#include "ballast/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ballast::data {
namespace {

std::vector<std::uint32_t> batch(const Partition& partition, const BatchKey& key,
                                 std::size_t size) {
  std::vector<std::uint32_t> indices(size);
  draw_batch(partition, key, indices);
  return indices;
}

TEST(Sampler, RepeatsForTheSameKeyAndNotForOthers) {
  const Partition partition = Partition::shared(1000, 4).value();
  const BatchKey key{.seed = 1, .worker = 2, .step = 3};
  EXPECT_EQ(batch(partition, key, 16), batch(partition, key, 16));
  EXPECT_NE(batch(partition, key, 16), batch(partition, {.seed = 2, .worker = 2, .step = 3}, 16));
  EXPECT_NE(batch(partition, key, 16), batch(partition, {.seed = 1, .worker = 1, .step = 3}, 16));
  EXPECT_NE(batch(partition, key, 16), batch(partition, {.seed = 1, .worker = 2, .step = 4}, 16));
}

TEST(Sampler, ShorterBatchIsAPrefixOfTheLonger) {
  const Partition partition = Partition::shared(1000, 1).value();
  const auto longer = batch(partition, {.seed = 9}, 32);
  const auto shorter = batch(partition, {.seed = 9}, 7);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(Sampler, DrawsEverySampleOfItsPartAndNoOther) {
  const Partition partition = Partition::even_split(30, 3, 4).value();
  std::vector<std::uint32_t> own;
  for (std::size_t k = 0; k < partition.size(1); ++k) own.push_back(partition.sample(1, k));
  std::sort(own.begin(), own.end());

  auto drawn = batch(partition, {.seed = 4, .worker = 1}, 1000);

  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  EXPECT_EQ(drawn, own);
}

// Chi-squared over 50 cells has mean 49 and deviation sqrt(98).
TEST(Sampler, DrawsUniformlyOverManySteps) {
  constexpr std::size_t kSamples = 50;
  constexpr int kSteps = 5000, kBatch = 16;
  const Partition partition = Partition::shared(kSamples, 1).value();
  std::vector<double> counts(kSamples);
  int repeats = 0;

  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const auto indices = batch(partition, {.seed = 21, .step = step}, kBatch);
    for (const std::uint32_t index : indices) ++counts[index];
    repeats += indices[0] == indices[1] ? 1 : 0;
  }

  const double expected = static_cast<double>(kSteps) * kBatch / kSamples;
  double chi_squared = 0.0;
  for (const double count : counts)
    chi_squared += (count - expected) * (count - expected) / expected;
  EXPECT_NEAR(chi_squared, 49.0, 5.0 * std::sqrt(98.0));
  EXPECT_NEAR(repeats, kSteps / 50.0, 5.0 * std::sqrt(kSteps / 50.0)) << "with replacement";
}

TEST(SamplerDeathTest, StopsOnAnUnknownWorker) {
  const Partition partition = Partition::shared(10, 2).value();
  EXPECT_DEATH(batch(partition, {.worker = 2}, 1), "no such worker");
}

}  // namespace
}  // namespace ballast::data
