// The geometric median against a slow minimiser and its optimality condition.

#include "ballast/robust/rules/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ballast/robust/rules/brute_force_gm_for_test.h"
#include "ballast/robust/rules/rule_for_test.h"

namespace ballast::robust {
namespace {

// A result is rounded to floats, which moves the objective by no more than that.
double objective_rounding(const Case& given) {
  return 1e-6 * brute_force::scale_of(given.rows) * brute_force::sum(given.weights);
}

void expect_minimises(const Vector& result, const Case& given, double tolerance) {
  const Vector slow = brute_force::geometric_median(given.rows, given.weights);
  const double slope = brute_force::pull_at(given.rows, given.weights, slow).slope();
  ASSERT_LE(slope, 1e-8 * brute_force::sum(given.weights)) << "the slow minimiser has not arrived";

  const double smallest = brute_force::objective(given.rows, given.weights, slow);
  EXPECT_LE(brute_force::objective(given.rows, given.weights, result),
            smallest * (1.0 + tolerance) + objective_rounding(given));
}

TEST(Gm, MinimisesItsObjectiveOnTiedRows) {
  const RulePointer gm = make_gm();
  for (std::uint64_t seed = 0; seed < 8000 && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Case given = draw_tied(rng);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << testing::PrintToString(given));
    expect_minimises(applied(*gm, given.rows, given.weights), given, 1e-6);
  }
}

TEST(Gm, MinimisesItsObjectiveOnNormalRowsOfAnyWeights) {
  const RulePointer gm = make_gm();
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    for (const kernels::Weighting weighting : kernels::kWeightings) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " weighting " << int(weighting));
      const Case given = draw_normal(1 + seed % 20, 1 + seed % 7, seed, weighting);
      expect_minimises(applied(*gm, given.rows, given.weights), given, 1e-6);
    }
  }
}

TEST(Gm, IsFlatWhereItStops) {
  const RulePointer gm = make_gm({.tolerance = 1e-5});
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case given = draw_normal(3 + seed % 20, 4, seed, kernels::Weighting::kEqual);
    const Vector result = applied(*gm, given.rows, given.weights);
    const auto pull = brute_force::pull_at(given.rows, given.weights, result);
    EXPECT_LE(2.0 * pull.slope(), 2e-5 * brute_force::sum(given.weights));
  }
}

// Many of Weiszfeld's steps from the mean. They need not arrive, but where they are is no minimum
// if a row or something near it was taken for one.
void expect_below_steps_from_the_mean(const Rule& gm, const Case& given) {
  Vector steps = brute_force::mean(given.rows, given.weights);
  for (int step = 0; step < 3000; ++step) {
    const auto pull = brute_force::pull_at(given.rows, given.weights, steps);
    steps = brute_force::weiszfeld_step(pull, steps);
  }
  const Vector result = applied(gm, given.rows, given.weights);
  EXPECT_LE(brute_force::objective(given.rows, given.weights, result),
            brute_force::objective(given.rows, given.weights, steps) * (1.0 + 1e-6) +
                objective_rounding(given))
      << testing::PrintToString(given);
}

Vector draw_point(Rng& rng, double scale) {
  return {static_cast<float>(scale * rng.normal()), static_cast<float>(scale * rng.normal())};
}

double draw_power_of_ten(Rng& rng, double lowest, double highest) {
  return std::pow(10.0, lowest + (highest - lowest) * rng.uniform());
}

// Weiszfeld's step between two rows that nearly coincide is so short that rounding hides what it
// gains, and others may pull a little more than the two of them weigh. The first table is one that
// a search for the worst ones found (`ballast verify`): its best row is 6e-4 above the minimum.
TEST(Gm, IsNotHeldByRowsThatNearlyCoincide) {
  const RulePointer gm = make_gm();
  expect_below_steps_from_the_mean(
      *gm, {{{-7.7183756828308105, -19.740924835205078},
             {-1.7913563251495361, 2.8378894329071045},
             {3.2772371768951416, -0.010742500424385071},
             {-7.718381404876709, -19.740942001342773}},
            {0.9634859126669575, 1.0, 0.0050952397155449225, 0.04017512551865145}});
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Vector here = draw_point(rng, 20.0);
    const double apart = draw_power_of_ten(rng, -7.0, -2.0);
    const Vector near = {static_cast<float>(here[0] + apart), here[1]};
    const double other = draw_power_of_ten(rng, -4.0, 0.0), liar = 0.1 * rng.uniform();
    const double excess = draw_power_of_ten(rng, -6.0, -2.0);  // of the others' pull
    expect_below_steps_from_the_mean(*gm, {{here, draw_point(rng, 1.0), draw_point(rng, 3.0), near},
                                           {1.0 + 0.7 * other - liar - excess, 1.0, other, liar}});
  }
}

// Then the objective is nearly flat from one side to the other.
TEST(Gm, IsNotHeldWhereTwoSidesNearlyBalance) {
  const RulePointer gm = make_gm();
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    Case given;
    for (std::size_t i = 0; i < 3 + seed % 3; ++i) {
      given.rows.push_back(draw_point(rng, draw_power_of_ten(rng, -1.0, 1.5)));
      given.weights.push_back(draw_power_of_ten(rng, -3.5, 0.0));
    }
    const double others = brute_force::sum(given.weights) - given.weights[0];
    given.weights[0] = others * (1.0 - draw_power_of_ten(rng, -6.0, -1.0));
    expect_below_steps_from_the_mean(*gm, given);
  }
}

TEST(Gm, IsTheRowExactlyThatSatisfiesTheOptimalityCondition) {
  const RulePointer gm = make_gm();
  int found = 0;
  for (std::uint64_t seed = 0; seed < 8000 && !HasFailure(); ++seed) {
    Rng rng(seed);
    Case given = draw_tied(rng);
    given.weights[rng.below(given.weights.size())] += static_cast<double>(rng.below(10));
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << testing::PrintToString(given));
    for (const Vector& row : given.rows) {
      const auto pull = brute_force::pull_at(given.rows, given.weights, row);
      if (pull.length() > pull.weight_here * (1.0 - 1e-9)) continue;
      EXPECT_EQ(applied(*gm, given.rows, given.weights), row);
      ++found;
      break;
    }
  }
  EXPECT_GT(found, 2000);
}

TEST(Gm, OfATriangleIsItsFermatPoint) {
  // Seen from the Fermat point the corners lie 120 degrees apart.
  const Table triangle = {{0.0, 0.0}, {4.0, 0.0}, {1.0, 3.0}};
  const Vector result = applied("gm(tolerance=1e-9)", triangle, Vector(3, 1.0));
  for (std::size_t i = 0; i < 3; ++i) {
    const Vector &a = triangle[i], &b = triangle[(i + 1) % 3];
    const double product =
        (a[0] - result[0]) * (b[0] - result[0]) + (a[1] - result[1]) * (b[1] - result[1]);
    EXPECT_NEAR(product / (brute_force::distance(a, result) * brute_force::distance(b, result)),
                -0.5, 1e-6);
  }
}

// Every point between the two middle rows is a minimum: the answer is their mean by weight,
// whatever the order of the rows.
TEST(Gm, OfAnEvenSplitOnALineIsTheMeanOfTheTwoMiddleRows) {
  EXPECT_EQ(applied("gm", {{-1.0, 1.0}, {3.0, 1.0}}, {2.0, 2.0}), (Vector{1.0, 1.0}));
  EXPECT_EQ(applied("gm", {{3.0, 1.0}, {-1.0, 1.0}}, {2.0, 2.0}), (Vector{1.0, 1.0}));
  // Weights 1 + 2 against 3: the middle rows are at 0 (weight 2) and 10 (weight 3).
  EXPECT_EQ(applied("gm", {{-5.0}, {0.0}, {10.0}}, {1.0, 2.0, 3.0}), Vector{6.0});
  EXPECT_EQ(applied("gm", {{10.0}, {-5.0}, {0.0}}, {3.0, 1.0, 2.0}), Vector{6.0});
}

TEST(Gm, TakesPlainWeiszfeldStepsWhenAsked) {
  for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case given = draw_normal(2 + seed % 9, 3, seed);
    Vector from_mean = brute_force::mean(given.rows, given.weights), from_zero(3, 0.0);
    for (std::size_t steps = 1; steps <= 5; ++steps) {
      const auto step = [&](const Vector& y) {
        return brute_force::weiszfeld_step(brute_force::pull_at(given.rows, given.weights, y), y);
      };
      from_mean = step(from_mean);
      from_zero = step(from_zero);
      const auto result = outcome(*make_gm({.iterations = steps}), given.rows, given.weights);
      expect_near(result.result, from_mean, 1e-5);
      EXPECT_EQ(result.report.iterations, steps);
      expect_near(applied(*make_gm({.iterations = steps, .starts_at_zero = true}), given.rows,
                          given.weights),
                  from_zero, 1e-5);
    }
  }
}

TEST(Gm, StepsDivideByNothingWhereTheyStartAtARow) {
  const Table rows = {{0.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}};  // the mean is a row
  EXPECT_EQ(applied("gm(iterations=3)", rows, Vector(3, 1.0)), (Vector{0.0, 0.0}));
  EXPECT_EQ(applied("gm(iterations=3, start=zero)", rows, Vector(3, 1.0)), (Vector{0.0, 0.0}));
}

TEST(Gm, ConvergesInFewSteps) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case given = draw_normal(17, 30, seed, kernels::Weighting::kSquares);
    EXPECT_LE(outcome(*make_gm(), given.rows, given.weights).report.iterations, 15u);
  }
}

// Neighbours share neighbours, so mixed rows often coincide up to the last bits.
TEST(Gm, MinimisesTheObjectiveOfTheRowsThatNnmMixes) {
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const double lambda = 0.1 * static_cast<double>(1 + seed % 4);
    const Case given = draw_normal(1 + seed % 40, 1 + seed % 5, seed);
    const Case mixed = {brute_force::nnm(given.rows, given.weights, lambda), given.weights};
    expect_minimises(applied(*make_nnm(make_gm(), lambda), given.rows, given.weights), mixed, 1e-6);
  }
}

TEST(Gm, MinimisesTheObjectiveOfMixedTies) {
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Case given = draw_tied(rng);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << testing::PrintToString(given));
    const Case mixed = {brute_force::nnm(given.rows, given.weights, 0.2), given.weights};
    expect_minimises(applied(*make_nnm(make_gm(), 0.2), given.rows, given.weights), mixed, 1e-6);
  }
}

}  // namespace
}  // namespace ballast::robust
