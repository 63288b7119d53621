#include "ballast/attacks/collusion_attacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ballast/kernels/table_for_test.h"

namespace ballast::attacks {
namespace {

using kernels::Filling;
using kernels::TestTable;
using testing::ElementsAre;
using testing::FloatEq;

using Counts = std::vector<std::uint64_t>;

std::vector<float> colluded(const AttackPointer& attack, TestTable honest, const Counts& counts,
                            std::uint64_t byzantine_count, std::vector<float> own) {
  EXPECT_TRUE(attack->colludes());
  attack->collude({.honest_rows = honest.view(),
                   .honest_counts = counts,
                   .byzantine_count = byzantine_count,
                   .model = {}},
                  own);
  return own;
}

// Rows (2, -4) and (6, -4) with counts 30 and 10: mean (3, -4), variance (3, 0).
TestTable two_rows() {
  TestTable table(2, 2);
  table[0] = {2.0f, -4.0f};
  table[1] = {6.0f, -4.0f};
  return table;
}

// Of 100 updates 51 are a majority: 40 Byzantine ones need 11 supporters, so 49 of the 60 honest
// updates may lie nearer to the mean; and so on. The quantiles are those of AS 241 (Wichura 1988).
TEST(Little, TakesItsDeviationsFromTheCounts) {
  EXPECT_NEAR(deviations_of_little(60, 40), 0.9027347916438647, 1e-12);   // quantile of 49/60
  EXPECT_NEAR(deviations_of_little(60, 30), 0.6229257232100878, 1e-12);   // of 44/60
  EXPECT_NEAR(deviations_of_little(75, 25), 0.39433553210082267, 1e-12);  // of 49/75
  EXPECT_NEAR(deviations_of_little(7, 3), 0.18001236979270493, 1e-12);    // of 4/7
}

// In the limit of many updates only the share counts: the quantile of 1/2 / (1 - share).
TEST(Little, ApproachesTheValuesOfTheShare) {
  EXPECT_NEAR(deviations_of_little(900'000'000, 100'000'000), 0.1397102988818621, 1e-7);
  EXPECT_NEAR(deviations_of_little(600'000'000, 400'000'000), 0.9674215661017014, 1e-7);
}

TEST(Little, KeepsItsDeviationsFiniteAndNotNegative) {
  for (const std::uint64_t honest : {1, 2, 3, 10, 1000}) {
    for (const std::uint64_t byzantine : {0, 1, 2, 3, 10, 1000, 1'000'000}) {
      const double z = deviations_of_little(honest, byzantine);
      EXPECT_GE(z, 0.0) << honest << " " << byzantine;
      EXPECT_LT(z, 9.0) << honest << " " << byzantine;
    }
  }
}

// 40 honest and 25 Byzantine updates: 33 are a majority, 8 supporters, the quantile of 32/40 = 0.8
// is 0.841621.
TEST(Little, SendsTheWeightedMeanMinusSoManyDeviations) {
  EXPECT_THAT(
      colluded(make_little(), two_rows(), {30, 10}, 25, {7.0f, 7.0f}),
      ElementsAre(FloatEq(static_cast<float>(3.0 - 0.8416212335729143 * std::sqrt(3.0))), -4.0f));
}

TEST(Empire, SendsMinusEpsilonTimesTheWeightedMean) {
  EXPECT_THAT(colluded(make_empire(0.1), two_rows(), {30, 10}, 25, {7.0f, 7.0f}),
              ElementsAre(FloatEq(-0.3f), FloatEq(0.4f)));
}

TEST(Mimic, CopiesTheTargetOrTheLastRow) {
  const std::vector<float> own = {7.0f, 7.0f};
  EXPECT_THAT(colluded(make_mimic(0), two_rows(), {30, 10}, 1, own), ElementsAre(2.0f, -4.0f));
  EXPECT_THAT(colluded(make_mimic(1), two_rows(), {30, 10}, 1, own), ElementsAre(6.0f, -4.0f));
  EXPECT_THAT(colluded(make_mimic(5), two_rows(), {30, 10}, 1, own), ElementsAre(6.0f, -4.0f));
}

TEST(CollusionAttacks, SendTheirOwnUpdateWhileThereAreNoHonestRows) {
  const std::vector<float> own = {7.0f, 8.0f};
  const TestTable none(0, 2);
  EXPECT_EQ(colluded(make_little(), none, {}, 1, own), own);
  EXPECT_EQ(colluded(make_empire(0.1), none, {}, 1, own), own);
  EXPECT_EQ(colluded(make_mimic(0), none, {}, 1, own), own);
}

TEST(CollusionAttacks, AreFiniteForFiniteRowsOfAnySize) {
  const Counts counts = {1, 1'000'000'000, 3};
  for (const Filling filling : kernels::kFillings) {
    const TestTable table = kernels::make_table(filling, 3, 40, 9);
    const std::vector<float> own(40, 1.0f);
    for (const auto& sent : {colluded(make_little(), table, counts, 2'000'000'000, own),
                             colluded(make_empire(1e300), table, counts, 5, own),
                             colluded(make_mimic(1), table, counts, 5, own)}) {
      for (const float value : sent) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace ballast::attacks
