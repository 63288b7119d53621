// Every rule against its definition, on thousands of small tables full of ties. (The geometric
// median: gm_test.cc.)

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "ballast/robust/rules/rule_for_test.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

constexpr std::uint64_t kCases = 8000;
constexpr double kRounding = 1e-5;  // of floats, relative to the scale of the rows
constexpr double kLambdas[] = {0.0, 0.1, 0.2, 0.25, 0.3, 1.0 / 3.0, 0.4, 0.49};

// Calls check(case, lambda) for many cases, and stops at the first that fails.
template <typename Check>
void for_each_case(Check&& check, std::size_t rows_max = 9, std::uint64_t cases = kCases) {
  for (std::uint64_t seed = 0; seed < cases && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const Case drawn = draw_tied(rng, rows_max);
    const double lambda = kLambdas[rng.below(std::size(kLambdas))];
    SCOPED_TRACE(testing::Message() << "seed " << seed << " lambda " << lambda << " "
                                    << testing::PrintToString(drawn));
    check(drawn, lambda);
  }
}

// That `kept` holds the share 1 - lambda of the weight, that no row outside has a smaller key than
// a row inside (but for rounding), and that `result` is the mean of what was kept.
void expect_keeps_smallest(const Outcome& outcome, const Case& given, const Vector& keys,
                           double lambda, double key_rounding) {
  constexpr double kTiny = 1e-9;
  const Vector& kept = outcome.report.kept;
  ASSERT_EQ(kept.size(), keys.size());
  double largest_inside = 0.0, smallest_outside = std::numeric_limits<double>::infinity();
  Vector taken;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_TRUE(kept[i] >= 0.0 && kept[i] <= 1.0) << kept[i];
    if (kept[i] > kTiny) largest_inside = std::max(largest_inside, keys[i]);
    if (kept[i] < 1.0 - kTiny) smallest_outside = std::min(smallest_outside, keys[i]);
    taken.push_back(kept[i] * given.weights[i]);
  }
  const double total = brute_force::sum(given.weights);
  EXPECT_NEAR(brute_force::sum(taken), (1.0 - lambda) * total, kTiny * total);
  EXPECT_LE(largest_inside, smallest_outside + key_rounding);
  expect_near(outcome.result, brute_force::mean(given.rows, taken),
              kRounding * brute_force::scale_of(given.rows));
}

TEST(Definitions, MeanIsTheWeightedMean) {
  const RulePointer mean = make_mean();
  for_each_case([&](const Case& given, double) {
    expect_near(applied(*mean, given.rows, given.weights),
                brute_force::mean(given.rows, given.weights),
                kRounding * brute_force::scale_of(given.rows));
  });
}

TEST(Definitions, CwmedIsTheMedianOfEachCoordinateExactly) {
  const RulePointer cwmed = make_cwmed();
  for_each_case([&](const Case& given, double) {
    EXPECT_EQ(applied(*cwmed, given.rows, given.weights),
              brute_force::cwmed(given.rows, given.weights));
  });
}

TEST(Definitions, CwtmIsTheTrimmedMeanOfEachCoordinate) {
  for_each_case([&](const Case& given, double lambda) {
    expect_near(applied(*make_cwtm(lambda), given.rows, given.weights),
                brute_force::cwtm(given.rows, given.weights, lambda),
                kRounding * brute_force::scale_of(given.rows));
  });
}

TEST(Definitions, CtmaIsAlgorithm1) {
  for_each_case([&](const Case& given, double lambda) {
    const Vector centre = brute_force::cwmed(given.rows, given.weights);
    expect_near(applied(*make_ctma(make_cwmed(), lambda), given.rows, given.weights),
                brute_force::ctma(given.rows, given.weights, centre, lambda),
                kRounding * brute_force::scale_of(given.rows));
  });
}

// The centre of these bases is known only up to rounding, so which of two rows at the same distance
// comes first is not.
TEST(Definitions, CtmaKeepsTheRowsNearestToAnyBase) {
  for (const char* base : {"mean", "gm", "cwtm(0.2)", "krum(0.2)", "nnm(gm, 0.2)"}) {
    SCOPED_TRACE(base);
    for_each_case(
        [&](const Case& given, double lambda) {
          const Vector centre = applied(base, given.rows, given.weights);
          expect_keeps_smallest(outcome(*make_ctma(rule(base), lambda), given.rows, given.weights),
                                given, brute_force::distances_from(centre, given.rows), lambda,
                                kRounding * brute_force::scale_of(given.rows));
        },
        9, kCases / 4);
  }
}

TEST(Definitions, KrumIsARowOfSmallestScore) {
  for_each_case([&](const Case& given, double lambda) {
    const Vector result = applied(*make_krum(lambda), given.rows, given.weights);
    const Vector scores = brute_force::krum_scores(given.rows, given.weights, lambda);

    double score = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (given.rows[i] == result) score = std::min(score, scores[i]);
    }
    const double best = *std::min_element(scores.begin(), scores.end());
    EXPECT_LE(score, best + 1e-9 * (1.0 + best));
  });
}

TEST(Definitions, MultikrumIsTheMeanOfTheRowsOfSmallestScore) {
  for_each_case([&](const Case& given, double lambda) {
    const Vector scores = brute_force::krum_scores(given.rows, given.weights, lambda);
    const double largest = *std::max_element(scores.begin(), scores.end());
    expect_keeps_smallest(outcome(*make_multikrum(lambda), given.rows, given.weights), given,
                          scores, lambda, 1e-9 * largest);
  });
}

TEST(Definitions, MdaIsTheMeanOfTheSetOfSmallestDiameter) {
  for_each_case([&](const Case& given, double lambda) {
    const unsigned set = brute_force::mda_set(given.rows, given.weights, lambda);
    expect_near(applied(*make_mda(lambda), given.rows, given.weights),
                brute_force::mean_of_set(given.rows, given.weights, set),
                kRounding * brute_force::scale_of(given.rows));
  });
}

// Distances that are not whole numbers are rounded, those of a pair in either order alike.
TEST(Definitions, MdaFindsTheSmallestDiameterOfNormalRows) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const double lambda = kLambdas[seed % std::size(kLambdas)];
    const Case given = draw_normal(2 + seed % 8, 1 + seed % 30, seed);
    const unsigned set = brute_force::mda_set(given.rows, given.weights, lambda);
    expect_near(applied(*make_mda(lambda), given.rows, given.weights),
                brute_force::mean_of_set(given.rows, given.weights, set), kRounding);
  }
}

TEST(Definitions, NnmAppliesItsBaseToTheMeansOfNeighbours) {
  for_each_case([&](const Case& given, double lambda) {
    const Table mixed = brute_force::nnm(given.rows, given.weights, lambda);
    const double tolerance = kRounding * brute_force::scale_of(given.rows);
    const auto with_base = [&](RulePointer base) {
      return applied(*make_nnm(std::move(base), lambda), given.rows, given.weights);
    };
    expect_near(with_base(make_mean()), brute_force::mean(mixed, given.weights), tolerance);
    expect_near(with_base(make_cwmed()), brute_force::cwmed(mixed, given.weights), tolerance);
    expect_near(with_base(make_cwtm(0.2)), brute_force::cwtm(mixed, given.weights, 0.2), tolerance);
  });
}

TEST(Definitions, UnweightedForgetsTheWeights) {
  for (const char* base : {"mean", "cwmed", "gm", "krum(0.2)", "ctma(cwmed, 0.3)"}) {
    SCOPED_TRACE(base);
    const RulePointer unweighted = rule("unweighted(" + std::string(base) + ")");
    for_each_case(
        [&](const Case& given, double) {
          EXPECT_EQ(applied(*unweighted, given.rows, given.weights),
                    applied(base, given.rows, Vector(given.rows.size(), 1.0)));
        },
        9, kCases / 8);
  }
}

// The results that bucketing(base, size) may give: one for each permutation of the rows.
template <typename Base>
std::set<Vector> bucketing_results(const Case& given, std::size_t size, Base&& base) {
  std::vector<std::size_t> permutation(given.rows.size());
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  std::set<Vector> results;
  do {
    const auto [rows, weights] = brute_force::buckets(given.rows, given.weights, size, permutation);
    results.insert(base(rows, weights));
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return results;
}

double distance_to_nearest(const Vector& point, const std::set<Vector>& candidates) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const Vector& candidate : candidates) {
    smallest = std::min(smallest, brute_force::distance(point, candidate));
  }
  return smallest;
}

TEST(Definitions, BucketingAppliesItsBaseToTheMeansOfAPartition) {
  for_each_case(
      [&](const Case& given, double lambda) {
        const auto size = static_cast<std::size_t>(1.0 + 10.0 * lambda);
        const double tolerance = kRounding * brute_force::scale_of(given.rows);
        EXPECT_LE(distance_to_nearest(
                      applied(*make_bucketing(make_cwmed(), size, 7), given.rows, given.weights),
                      bucketing_results(given, size, brute_force::cwmed)),
                  tolerance);
        EXPECT_LE(distance_to_nearest(
                      applied(*make_bucketing(make_mean(), size, 7), given.rows, given.weights),
                      bucketing_results(given, size, brute_force::mean)),
                  tolerance);
      },
      6, kCases / 8);
}

// Two buckets tie for krum, which then takes the first: any two of the four rows.
TEST(Definitions, BucketingDrawsEveryPartitionEquallyOften) {
  const Table rows = {{1.0}, {2.0}, {4.0}, {8.0}};
  constexpr int kDraws = 3000, kPairs = 6, kFiveDeviations = 102;

  std::map<double, int> counts;
  const RulePointer bucketing = make_bucketing(make_krum(0.0), 2, 5);
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    ++counts[applied(*bucketing, rows, Vector(4, 1.0), draw)[0]];
  }

  EXPECT_EQ(counts.size(), kPairs);
  for (const auto& [value, count] : counts) {
    EXPECT_NEAR(count, kDraws / kPairs, kFiveDeviations) << value;
  }
}

TEST(Definitions, BucketingIsAFunctionOfSeedAndDraw) {
  const Case given = draw_normal(9, 3, 1);
  const auto result = [&](std::uint64_t seed, std::uint64_t draw) {
    return applied(*make_bucketing(make_cwmed(), 3, seed), given.rows, given.weights, draw);
  };
  EXPECT_EQ(result(1, 1), result(1, 1));
  std::set<Vector> by_seed, by_draw;
  for (std::uint64_t k = 0; k < 10; ++k) {
    by_seed.insert(result(k, 0));
    by_draw.insert(result(0, k));
  }
  EXPECT_GT(by_seed.size(), 5u);
  EXPECT_GT(by_draw.size(), 5u);
}

}  // namespace
}  // namespace ballast::robust
