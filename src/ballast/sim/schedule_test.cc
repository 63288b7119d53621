#include "ballast/sim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ballast::sim {
namespace {

constexpr std::size_t kArrivals = 100'000;
constexpr ScheduleKind kExactKinds[] = {ScheduleKind::kUniform, ScheduleKind::kId,
                                        ScheduleKind::kIdSquared, ScheduleKind::kRoundRobin};

// A share, and the same as a fraction in whole numbers.
struct Meant {
  double value;
  std::uint64_t numerator;
  std::uint64_t denominator;
};
constexpr Meant kShares[] = {{0.0, 0, 1},  {0.1, 1, 10},    {0.3, 3, 10},
                             {0.4, 4, 10}, {0.45, 45, 100}, {1.0 / 3.0, 1, 3}};

ScheduleOptions options_of(ScheduleKind kind, double share) {
  return {.kind = kind, .workers = {.honest = 9, .byzantine = 8}, .share = share, .seed = 7};
}

std::vector<std::uint32_t> draw(const ScheduleOptions& options, std::size_t count) {
  const auto arrivals = draw_arrivals(options, count).value();
  std::vector<std::uint32_t> workers;
  for (const Arrival& arrival : arrivals) workers.push_back(arrival.worker);
  return workers;
}

TEST(Schedule, TheByzantineShareIsExactAtEveryArrival) {
  for (const ScheduleKind kind : kExactKinds) {
    for (const Meant& share : kShares) {
      SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(share.value));
      const auto workers = draw(options_of(kind, share.value), kArrivals);
      std::uint64_t byzantine = 0;
      for (std::uint64_t t = 1; t <= kArrivals; ++t) {
        ASSERT_LT(workers[t - 1], 17u);
        byzantine += workers[t - 1] >= 9 ? 1 : 0;
        ASSERT_EQ(byzantine, share.numerator * t / share.denominator) << "t = " << t;
      }
    }
  }
}

TEST(Schedule, BurstsAreWholeAndNeverAheadAndLessThanOneBehind) {
  for (const std::size_t length : {1, 2, 7, 50}) {
    for (const Meant& share : kShares) {
      SCOPED_TRACE(std::to_string(length) + " " + std::to_string(share.value));
      ScheduleOptions options = options_of(ScheduleKind::kBurst, share.value);
      options.burst_length = length;
      const auto workers = draw(options, kArrivals);
      std::uint64_t byzantine = 0;
      for (std::uint64_t t = 1; t <= kArrivals; ++t) {
        const bool is_byzantine = workers[t - 1] >= 9;
        ASSERT_TRUE(is_byzantine || byzantine % length == 0) << "a burst was broken at " << t;
        byzantine += is_byzantine ? 1 : 0;
        const std::uint64_t due = share.numerator * t / share.denominator;
        ASSERT_LE(byzantine, due) << "t = " << t;
        ASSERT_LT(due - byzantine, length) << "t = " << t;
      }
    }
  }
}

// 9 honest workers and 8 Byzantine ones that send `rate` times as often: of 9 + 8 rate arrivals
// 8 rate are Byzantine.
TEST(Schedule, AFloodHasTheShareThatItsRateMakes) {
  for (const std::uint64_t rate : {1, 3, 10, 100, 1000}) {
    SCOPED_TRACE(rate);
    ScheduleOptions options = options_of(ScheduleKind::kFlood, 0.1);
    options.flood_rate = static_cast<double>(rate);
    const auto workers = draw(options, kArrivals);
    std::uint64_t byzantine = 0;
    for (std::uint64_t t = 1; t <= kArrivals; ++t) {
      byzantine += workers[t - 1] >= 9 ? 1 : 0;
      ASSERT_EQ(byzantine, 8 * rate * t / (8 * rate + 9)) << "t = " << t;
    }
  }
  ScheduleOptions options = options_of(ScheduleKind::kFlood, 0.0);
  options.flood_rate = 1001.0;
  EXPECT_FALSE(Schedule::make(options));
  options.flood_rate = 1000.0;
  options.workers.byzantine = 0;
  for (const std::uint32_t worker : draw(options, 100)) EXPECT_LT(worker, 9u);
}

// Frequencies of n independent draws lie within five standard deviations of n p.
void expect_frequencies(ScheduleKind kind, std::size_t first, std::size_t count,
                        const std::vector<std::uint32_t>& workers) {
  double total_weight = 0.0, total = 0.0;
  for (std::size_t id = 1; id <= count; ++id) {
    total_weight += static_cast<double>(draw_weight(kind, id));
  }
  std::vector<double> seen(count);
  for (const std::uint32_t worker : workers) {
    if (worker < first || worker >= first + count) continue;
    seen[worker - first] += 1.0;
    total += 1.0;
  }
  for (std::size_t id = 1; id <= count; ++id) {
    const double p = static_cast<double>(draw_weight(kind, id)) / total_weight;
    EXPECT_NEAR(seen[id - 1], total * p, 5.0 * std::sqrt(total * p * (1.0 - p))) << "id " << id;
  }
}

TEST(Schedule, SendersAreAsFrequentAsTheirWeightInEachGroup) {
  for (const ScheduleKind kind :
       {ScheduleKind::kUniform, ScheduleKind::kId, ScheduleKind::kIdSquared}) {
    SCOPED_TRACE(name(kind));
    const auto workers = draw(options_of(kind, 0.4), kArrivals);
    expect_frequencies(kind, 0, 9, workers);
    expect_frequencies(kind, 9, 8, workers);
  }
}

TEST(Schedule, WeightsAreOneTheIdAndItsSquare) {
  EXPECT_EQ(draw_weight(ScheduleKind::kUniform, 5), 1u);
  EXPECT_EQ(draw_weight(ScheduleKind::kId, 5), 5u);
  EXPECT_EQ(draw_weight(ScheduleKind::kIdSquared, 5), 25u);
}

TEST(Schedule, RoundRobinTakesTurnsInEachGroup) {
  const ScheduleOptions options{.kind = ScheduleKind::kRoundRobin,
                                .workers = {.honest = 3, .byzantine = 2},
                                .share = 1.0 / 3.0};
  const std::vector<std::uint32_t> expected = {0, 1, 3, 2, 0, 4, 1, 2, 3, 0};
  EXPECT_EQ(draw(options, 10), expected);
}

TEST(Schedule, ATraceIsFollowedAndStartsOver) {
  const ScheduleOptions options{
      .kind = ScheduleKind::kTrace, .workers = {.honest = 3}, .share = 0.9, .trace = {2, 0, 0}};
  EXPECT_EQ(draw(options, 7), (std::vector<std::uint32_t>{2, 0, 0, 2, 0, 0, 2}));
}

TEST(Schedule, IsAFunctionOfItsOptions) {
  for (const ScheduleKind kind : kExactKinds) {
    SCOPED_TRACE(name(kind));
    ScheduleOptions options = options_of(kind, 0.4);
    const auto first = draw(options, 1000);
    EXPECT_EQ(draw(options, 1000), first);
    options.seed = 8;
    EXPECT_EQ(draw(options, 1000) == first, kind == ScheduleKind::kRoundRobin);
  }
}

TEST(Schedule, WithoutAShareByzantineWorkersNeverArrive) {
  const auto workers = draw(options_of(ScheduleKind::kId, 0.0), 1000);
  EXPECT_LT(*std::ranges::max_element(workers), 9u);
  EXPECT_EQ(draw({.workers = {.honest = 1}}, 2), (std::vector<std::uint32_t>{0, 0}));
}

TEST(Schedule, ArrivalsAreOneSecondApart) {
  const auto arrivals = draw_arrivals({.workers = {.honest = 2}}, 3).value();
  EXPECT_EQ(arrivals[0].at, std::chrono::seconds(1));
  EXPECT_EQ(arrivals[2].at, std::chrono::seconds(3));
}

void expect_refusal(const ScheduleOptions& options, const std::string& part) {
  const auto schedule = Schedule::make(options);
  ASSERT_FALSE(schedule.has_value()) << part;
  EXPECT_NE(schedule.error().message.find(part), std::string::npos) << schedule.error().message;
}

TEST(Schedule, RefusesImpossibleOptions) {
  expect_refusal({.workers = {.honest = 0, .byzantine = 1}}, "at least one honest worker");
  expect_refusal({.workers = {.honest = kWorkersMax, .byzantine = 1}}, "more than 65536");
  expect_refusal({.workers = {.honest = SIZE_MAX, .byzantine = SIZE_MAX}}, "more than 65536");
  expect_refusal({.workers = {.honest = 2}, .share = 0.4}, "needs a Byzantine worker");
  expect_refusal({.workers = {.honest = 2, .byzantine = 1}, .share = 1.0}, "share 1");
  expect_refusal({.kind = ScheduleKind::kBurst, .burst_length = 0}, "at least one arrival");
  expect_refusal({.kind = ScheduleKind::kTrace}, "the trace is empty");
  expect_refusal({.kind = ScheduleKind::kTrace, .workers = {.honest = 2}, .trace = {0, 1, 2}},
                 "arrival 3 of the trace names worker 2; they are 0 to 1");
  EXPECT_FALSE(draw_arrivals(ScheduleOptions{}, kArrivalsMax + 1).has_value());
}

TEST(ScheduleKind, IsReadByName) {
  for (const ScheduleKind kind :
       {ScheduleKind::kUniform, ScheduleKind::kId, ScheduleKind::kIdSquared,
        ScheduleKind::kRoundRobin, ScheduleKind::kBurst, ScheduleKind::kTrace}) {
    EXPECT_EQ(parse_arrivals(name(kind)).value().kind, kind);
  }
  EXPECT_EQ(name(ScheduleKind::kIdSquared), "id^2");
  EXPECT_EQ(parse_arrivals("round-robbin").error().message,
            "there is no arrival pattern 'round-robbin'; did you mean 'round-robin'? at column 1\n"
            "  round-robbin\n"
            "  ^");
}

TEST(ScheduleKind, ABurstHasALength) {
  EXPECT_EQ(parse_arrivals("burst(4)").value().burst_length, 4u);
  EXPECT_EQ(parse_arrivals("burst").value().burst_length, 10u);
  EXPECT_EQ(parse_arrivals("burst(0)").error().message,
            "length must be a whole number from 1, not 0 at column 7\n  burst(0)\n        ^");
}

}  // namespace
}  // namespace ballast::sim
