#include "ballast/sim/virtual_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ballast::sim {
namespace {

constexpr Distribution kDistributions[] = {Distribution::kConstant, Distribution::kExponential,
                                           Distribution::kLognormal};

std::vector<double> arrivals_of_each(const VirtualTimeOptions& options, std::size_t count) {
  const auto arrivals = draw_arrivals(options, count).value();
  std::vector<double> counts(options.workers.total());
  for (const Arrival& arrival : arrivals) counts[arrival.worker] += 1.0;
  return counts;
}

// Speeds 1 and 2: worker 1 sends at 0.5, 1.0, 1.5, worker 0 at 1.0; at one time the lower number
// comes first.
TEST(VirtualTime, ConstantTimesAreOneSecondOverTheSpeed) {
  const VirtualTimeOptions options{.workers = {.honest = 2},
                                   .speed = ScheduleKind::kId,
                                   .distribution = Distribution::kConstant};
  using std::chrono::milliseconds;
  const std::vector<Arrival> expected = {{1, milliseconds(500)},
                                         {0, milliseconds(1000)},
                                         {1, milliseconds(1000)},
                                         {1, milliseconds(1500)}};
  EXPECT_EQ(draw_arrivals(options, 4).value(), expected);
}

TEST(VirtualTime, EqualConstantTimesTakeTurns) {
  const VirtualTimeOptions options{.workers = {.honest = 3},
                                   .distribution = Distribution::kConstant};
  const auto arrivals = draw_arrivals(options, 9).value();
  for (std::size_t i = 0; i < arrivals.size(); ++i) EXPECT_EQ(arrivals[i].worker, i % 3);
}

// A renewal process of n arrivals counts within a few sqrt(n) of its rate; five per cent is far
// outside that here.
TEST(VirtualTime, WorkersArriveAsOftenAsTheirSpeedSays) {
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name(distribution));
    const auto counts = arrivals_of_each({.workers = {.honest = 3, .byzantine = 2},
                                          .speed = ScheduleKind::kIdSquared,
                                          .distribution = distribution,
                                          .share = 0.4,
                                          .seed = 3},
                                         200'000);
    const double second = 200'000 * 0.6 / 14.0, byzantine = 200'000 * 0.4 / 5.0;
    EXPECT_NEAR(counts[0] / second, 1.0, 0.05);
    EXPECT_NEAR(counts[1] / second, 4.0, 0.2);
    EXPECT_NEAR(counts[2] / second, 9.0, 0.45);
    EXPECT_NEAR(counts[3] / byzantine, 1.0, 0.05);
    EXPECT_NEAR(counts[4] / byzantine, 4.0, 0.2);
  }
}

TEST(VirtualTime, AFactorFloodsTheServer) {
  const auto counts = arrivals_of_each(
      {.workers = {.honest = 9, .byzantine = 1}, .byzantine_factor = 100.0, .seed = 4}, 50'000);
  EXPECT_NEAR(counts[9] / 50'000, 100.0 / 109.0, 0.01);
}

TEST(VirtualTime, WithoutAShareByzantineWorkersNeverArrive) {
  const auto counts = arrivals_of_each({.workers = {.honest = 2, .byzantine = 1}}, 1000);
  EXPECT_EQ(counts[2], 0.0);
}

TEST(VirtualTime, IsOrderedAndAFunctionOfTheSeed) {
  for (const Distribution distribution : kDistributions) {
    SCOPED_TRACE(name(distribution));
    VirtualTimeOptions options{.workers = {.honest = 4, .byzantine = 2},
                               .distribution = distribution,
                               .share = 1.0 / 3.0,
                               .seed = 5};
    const auto arrivals = draw_arrivals(options, 1000).value();
    EXPECT_TRUE(std::ranges::is_sorted(arrivals, {}, &Arrival::at));
    EXPECT_EQ(draw_arrivals(options, 1000).value(), arrivals);
    options.seed = 6;
    EXPECT_EQ(draw_arrivals(options, 1000).value() == arrivals,
              distribution == Distribution::kConstant);
  }
}

TEST(VirtualTime, ShorterRunsAreBeginningsOfLongerOnes) {
  const VirtualTimeOptions options{.workers = {.honest = 4}, .seed = 7};
  auto longer = draw_arrivals(options, 100).value();
  longer.resize(60);
  EXPECT_EQ(draw_arrivals(options, 60).value(), longer);
}

void expect_refusal(const VirtualTimeOptions& options, const std::string& part) {
  const auto arrivals = draw_arrivals(options, 10);
  ASSERT_FALSE(arrivals.has_value()) << part;
  EXPECT_NE(arrivals.error().message.find(part), std::string::npos) << arrivals.error().message;
}

TEST(VirtualTime, RefusesImpossibleOptions) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  expect_refusal({.workers = {.honest = 0}}, "honest worker");
  expect_refusal({.workers = {.honest = 1}, .share = 0.3}, "needs a Byzantine worker");
  expect_refusal({.speed = ScheduleKind::kBurst}, "no speeds for \"burst\"");
  expect_refusal({.sigma = -1.0}, "sigma is -1");
  expect_refusal({.sigma = kNan}, "sigma is nan");
  expect_refusal({.byzantine_factor = 0.0}, "factor on Byzantine speeds is 0");
  expect_refusal({.byzantine_factor = kNan}, "factor on Byzantine speeds is nan");
  expect_refusal({.workers = {.honest = 1, .byzantine = 1}, .share = 1.0}, "share 1");
  EXPECT_FALSE(draw_arrivals(VirtualTimeOptions{}, kArrivalsMax + 1).has_value());
}

TEST(Distribution, IsReadByName) {
  for (const Distribution distribution : kDistributions) {
    EXPECT_EQ(parse_compute_time(name(distribution)).value().distribution, distribution);
  }
  EXPECT_EQ(parse_compute_time("lognormal").value().sigma, VirtualTimeOptions{}.sigma);
  EXPECT_EQ(parse_compute_time("lognormal(1.5)").value().sigma, 1.5);
  EXPECT_EQ(parse_compute_time("exponental").error().message,
            "there is no compute time 'exponental'; did you mean 'exponential'? at column 1\n"
            "  exponental\n"
            "  ^");
  EXPECT_EQ(parse_compute_time("lognormal(4)").error().message,
            "sigma must be at least 0 and at most 3, not 4 at column 11\n"
            "  lognormal(4)\n"
            "            ^");
}

}  // namespace
}  // namespace ballast::sim
