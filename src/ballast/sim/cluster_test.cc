#include "ballast/sim/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "ballast/sim/schedule.h"
#include "ballast/sim/test_cluster.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::sim {
namespace {

constexpr Population kPopulation = {.honest = 3, .byzantine = 2};

std::vector<Arrival> draw(ScheduleKind kind, double share, std::size_t count) {
  return draw_arrivals(
             ScheduleOptions{.kind = kind, .workers = kPopulation, .share = share, .seed = 11},
             count)
      .value();
}

std::vector<Arrival> follow(std::vector<std::uint32_t> trace) {
  const std::size_t count = trace.size();
  return draw_arrivals(
             ScheduleOptions{
                 .kind = ScheduleKind::kTrace, .workers = kPopulation, .trace = std::move(trace)},
             count)
      .value();
}

TEST(Cluster, DeliversEveryArrival) {
  TestCluster cluster({.share = 0.4});
  const RunResult result = cluster.run(draw(ScheduleKind::kUniform, 0.4, 50)).value();
  EXPECT_EQ(result.ending, Ending::kComplete);
  EXPECT_EQ(result.arrivals, 50u);
  EXPECT_EQ(result.byzantine_arrivals, 20u);
  EXPECT_EQ(cluster.server().model().version, 50u);
  ASSERT_EQ(result.gradient_seconds.size(), 5u);
  for (const double seconds : result.gradient_seconds) EXPECT_GT(seconds, 0.0);
}

TEST(Cluster, RunsWithoutByzantineWorkersAndWithoutArrivals) {
  TestCluster alone({.workers = {.honest = 1}, .share = 0.0});
  EXPECT_EQ(alone.run(follow({0, 0, 0})).value().arrivals, 3u);
  TestCluster idle(TestSetting{});
  EXPECT_EQ(idle.run({}).value().arrivals, 0u);
}

// Everything that is recorded, once for each number of threads.
void expect_the_same_for_any_threads(TestSetting setting, const std::vector<Arrival>& arrivals) {
  std::vector<Seen> alone;
  for (const std::size_t threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    setting.threads = threads;
    TestCluster cluster(setting);
    ASSERT_TRUE(cluster.run(arrivals).has_value());
    if (threads == 1) alone = cluster.recorder().seen;
    ASSERT_EQ(cluster.recorder().seen.size(), arrivals.size());
    EXPECT_TRUE(cluster.recorder().seen == alone);
  }
}

TEST(Cluster, ParallelRunsAreTheSequentialOneBitForBit) {
  const optim::EstimatorOptions estimators[] = {optim::Mu2Estimator{},
                                                optim::Mu2Estimator{.beta = optim::HarmonicBeta{}},
                                                optim::MomentumEstimator{}, optim::SgdEstimator{}};
  const auto arrivals = draw(ScheduleKind::kIdSquared, 0.4, 150);
  for (const expression::Entry* attack : attacks::attack_registry().catalogue().entries) {
    for (const optim::EstimatorOptions& estimator : estimators) {
      SCOPED_TRACE(std::string(attack->name) + ", estimator " + std::to_string(estimator.index()));
      TestSetting setting{
          .estimator = estimator, .rule = "gm", .attack = std::string(attack->name)};
      setting.quadratic.class_count = 10;
      setting.quadratic.has_statistics = true;
      setting.share = 0.4;
      if (estimator.index() > 0) setting.averaging.reset();
      expect_the_same_for_any_threads(setting, arrivals);
    }
  }
}

TEST(Cluster, ParallelVirtualTimeIsTheSequentialOneBitForBit) {
  const VirtualTimeOptions time{.workers = kPopulation, .byzantine_factor = 10.0, .seed = 2};
  TestSetting setting{.reply = server::Reply::kPaper,
                      .weights = server::CappedWeights{.f = 2, .share = 0.4},
                      .rule = "ctma(cwmed, 0.4)",
                      .attack = "little"};
  expect_the_same_for_any_threads(setting, draw_arrivals(time, 300).value());
}

TEST(Cluster, RecordsTheTimeOfArrival) {
  TestCluster cluster(TestSetting{});
  ASSERT_TRUE(cluster.run(follow({0, 4})).has_value());
  EXPECT_EQ(cluster.server().worker(0).last_seen, std::chrono::seconds(1));
  EXPECT_EQ(cluster.server().worker(4).last_seen, std::chrono::seconds(2));
}

TEST(Cluster, WhatWillNotArriveIsNotComputed) {
  TestSetting setting{.estimator = optim::SgdEstimator{}, .threads = 2};
  TestCluster cluster(setting);
  ASSERT_TRUE(cluster.run(follow({0, 1, 0})).has_value());
  EXPECT_EQ(cluster.quadratic(0).samples.size(), 2u);
  EXPECT_EQ(cluster.quadratic(1).samples.size(), 1u);
  EXPECT_EQ(cluster.quadratic(2).samples.size(), 0u);
}

TEST(Cluster, ARefusedWorkerStartsAgainFromTheNewestModel) {
  TestCluster cluster({.staleness_max = 2});
  ASSERT_TRUE(cluster.run(follow({0, 1, 2, 3, 3, 0, 4, 4})).has_value());
  const auto stale = static_cast<std::size_t>(server::Verdict::kStale);
  EXPECT_EQ(cluster.server().worker(3).verdicts[stale], 1u);
  EXPECT_EQ(cluster.server().worker(4).verdicts[stale], 1u);
  EXPECT_EQ(cluster.server().worker(3).count, 1u);
  EXPECT_EQ(cluster.server().worker(4).count, 1u);
  EXPECT_EQ(cluster.recorder().seen[4].version, 3u);
}

TEST(Cluster, RunningStatisticsReachTheServer) {
  TestSetting setting{};
  setting.quadratic.has_statistics = true;
  TestCluster cluster(setting);
  ASSERT_TRUE(cluster.run(follow({0, 0, 0, 1})).has_value());
  EXPECT_EQ(cluster.server().statistics().value(), std::vector<float>{3.0f});
}

void expect_refusal(TestCluster& cluster, const std::vector<Arrival>& arrivals,
                    const std::string& part) {
  const auto result = cluster.run(arrivals);
  ASSERT_FALSE(result.has_value()) << part;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

// Weights 3, 1 and 1, 1: the median is one of the honest workers'; with 3 of 4 updates it is not.
TEST(Cluster, FalseStatisticsOfAMinorityAreOutvoted) {
  TestSetting setting{.attack = "batch-norm(100)"};
  setting.quadratic.has_statistics = true;
  TestCluster cluster(setting);
  ASSERT_TRUE(cluster.run(follow({0, 0, 0, 1, 3, 4})).has_value());
  EXPECT_EQ(cluster.server().statistics().value(), std::vector<float>{3.0f});
  TestCluster captured(setting);
  ASSERT_TRUE(captured.run(follow({3, 3, 3, 1})).has_value());
  EXPECT_EQ(captured.server().statistics().value(), std::vector<float>{300.0f});
  TestCluster without({.attack = "batch-norm(100)"});
  expect_refusal(without, {}, "the model has none");
}

// Keeps what it is shown, and sends zeros.
class Spy final : public attacks::Attack {
 public:
  struct View {
    std::vector<std::vector<float>> rows;
    std::vector<std::uint64_t> counts;
    std::uint64_t byzantine_count;
    std::vector<float> model;
  };

  bool colludes() const noexcept override { return true; }
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override {
    View copy{.rows = {},
              .counts = {view.honest_counts.begin(), view.honest_counts.end()},
              .byzantine_count = view.byzantine_count,
              .model = {view.model.begin(), view.model.end()}};
    for (std::size_t i = 0; i < view.honest_rows.row_count(); ++i) {
      const auto row = view.honest_rows.row(i);
      copy.rows.emplace_back(row.begin(), row.end());
    }
    views.push_back(std::move(copy));
    std::ranges::fill(update, 0.0f);
  }

  mutable std::vector<View> views;
};

TEST(Cluster, ColludersSeeTheHonestRowsAtTheMomentTheySend) {
  for (const std::size_t threads : {1, 4}) {
    SCOPED_TRACE(threads);
    TestCluster cluster({.threads = threads});
    Spy spy;
    cluster.attack = &spy;
    ASSERT_TRUE(cluster.run(follow({3, 0, 2, 4, 2, 3})).has_value());

    const auto& seen = cluster.recorder().seen;
    ASSERT_EQ(spy.views.size(), 3u);
    EXPECT_TRUE(spy.views[0].rows.empty());
    EXPECT_EQ(spy.views[0].byzantine_count, 1u);
    EXPECT_EQ(spy.views[0].model, std::vector<float>(3));
    EXPECT_EQ(spy.views[1].rows, (std::vector{seen[1].row, seen[2].row}));
    EXPECT_EQ(spy.views[1].counts, (std::vector<std::uint64_t>{1, 1}));
    EXPECT_EQ(spy.views[1].byzantine_count, 2u);
    EXPECT_EQ(spy.views[1].model, seen[2].model);
    EXPECT_EQ(spy.views[2].rows, (std::vector{seen[1].row, seen[4].row}));
    EXPECT_EQ(spy.views[2].counts, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(spy.views[2].byzantine_count, 3u);
    EXPECT_EQ(seen[3].row, std::vector<float>(3)) << "what was forged was not sent";
  }
}

std::vector<std::uint32_t> senders(TestCluster& cluster) {
  std::vector<std::uint32_t> workers;
  for (const Seen& seen : cluster.recorder().seen) workers.push_back(seen.worker);
  return workers;
}

// Workers 0 to 2 are honest. The updates of 3 and 4 wait until three do, or for worker 1; what
// still waits when the list is over comes at last.
TEST(Cluster, AnAttackMayLetItsUpdatesWait) {
  const std::vector<std::uint32_t> list = {3, 0, 4, 1, 3, 2, 0, 4, 1};
  TestCluster burst({.attack = "delayed-burst(sign-flip, 3)", .threads = 2});
  ASSERT_TRUE(burst.run(follow(list)).has_value());
  EXPECT_EQ(senders(burst), (std::vector<std::uint32_t>{0, 1, 3, 4, 3, 2, 0, 1, 4}));
  TestCluster ambush({.attack = "ambush(empire, 1)", .threads = 2});
  ASSERT_TRUE(ambush.run(follow(list)).has_value());
  EXPECT_EQ(senders(ambush), (std::vector<std::uint32_t>{0, 1, 3, 4, 3, 2, 0, 1, 4}));
}

// Worker 3 makes the same updates whenever they are sent, so the one it sends second in the list
// was computed on the model that the server gave it after its first.
TEST(Cluster, WhatWaitsIsStaleByThen) {
  TestCluster cluster({.estimator = optim::SgdEstimator{}, .attack = "ambush(none, 2)"});
  ASSERT_TRUE(cluster.run(follow({3, 0, 1, 2, 0, 3, 2})).has_value());
  const auto& seen = cluster.recorder().seen;
  EXPECT_EQ(senders(cluster), (std::vector<std::uint32_t>{0, 1, 2, 3, 0, 2, 3}));
  EXPECT_EQ(seen[3].staleness, 3u);
  EXPECT_EQ(seen[6].staleness, 2u);
}

TEST(Cluster, WhatIsNotFiniteIsRefusedAndCountedAndTheRunGoesOn) {
  for (const std::string attack : {"not-finite", "not-finite(inf)", "not-finite(minus-inf)"}) {
    TestCluster cluster({.attack = attack});
    const RunResult result = cluster.run(draw(ScheduleKind::kId, 0.4, 50)).value();
    EXPECT_EQ(result.arrivals, 50u);
    EXPECT_EQ(result.byzantine_arrivals, 20u);
    EXPECT_EQ(cluster.server().accepted_count(), 30u);
    const auto refused = static_cast<std::size_t>(server::Verdict::kNotFinite);
    EXPECT_EQ(
        cluster.server().worker(3).verdicts[refused] + cluster.server().worker(4).verdicts[refused],
        20u);
    for (const float value : *cluster.server().model().values) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Cluster, AReplayIsAnEarlierHonestUpdate) {
  TestCluster cluster({.attack = "stale-replay(2)"});
  ASSERT_TRUE(cluster.run(follow({0, 1, 2, 3, 0, 4, 3})).has_value());
  const auto& seen = cluster.recorder().seen;
  EXPECT_EQ(seen[3].row, seen[0].row);
  EXPECT_EQ(seen[5].row, seen[1].row);
  EXPECT_EQ(seen[6].row, seen[1].row);
}

TEST(Cluster, AFailingSourceEndsTheRunAndIsNamed) {
  for (const std::size_t threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    TestCluster cluster({.estimator = optim::SgdEstimator{}, .threads = threads});
    cluster.quadratic(1).fail_at_call = 2;
    const auto result = cluster.run(follow({0, 1, 2, 0, 1, 1, 2, 3, 4}));
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().message, "worker 1 at arrival 5: the source is broken");
    EXPECT_EQ(cluster.server().accepted_count(), 4u);
  }
}

// A source that breaks its contract in one way or the other.
class Rogue final : public worker::GradientSource {
 public:
  explicit Rogue(bool throws) : throws_(throws) {}
  std::size_t dim() const noexcept override { return 3; }
  int class_count() const noexcept override { return 0; }
  std::span<const float> initial_statistics() const noexcept override { return {}; }
  Result<double> gradient(std::span<const float>, const worker::Sample&, std::span<float> out,
                          std::span<float>) override {
    if (throws_) throw std::runtime_error("out of luck");
    std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN());
    return 0.0;
  }

 private:
  bool throws_;
};

TEST(Cluster, ASourceThatThrowsOrIsNotFiniteIsAnError) {
  for (const bool throws : {true, false}) {
    for (const std::size_t threads : {1, 3}) {
      TestCluster cluster({.threads = threads});
      Rogue rogue(throws);
      cluster.sources[2] = &rogue;
      const auto result = cluster.run(follow({0, 1, 2, 0}));
      ASSERT_FALSE(result.has_value());
      const std::string part = throws ? "worker 2 at arrival 3: its gradient source failed: out of"
                                      : "worker 2 at arrival 3: ";
      EXPECT_EQ(result.error().message.find(part), 0u) << result.error().message;
    }
  }
}

TEST(Cluster, AnObserverMayStopTheRun) {
  for (const std::size_t threads : {1, 4}) {
    TestCluster cluster({.threads = threads});
    cluster.recorder().stop_at = 5;
    const RunResult result = cluster.run(draw(ScheduleKind::kId, 0.4, 50)).value();
    EXPECT_EQ(result.ending, Ending::kByObserver);
    EXPECT_EQ(result.arrivals, 5u);
    EXPECT_EQ(cluster.server().accepted_count(), 5u);
  }
}

TEST(Cluster, ARequestStopsTheRunBeforeTheNextArrival) {
  TestCluster cluster({.threads = 2});
  const std::atomic<bool> stop = true;
  cluster.stop = &stop;
  const RunResult result = cluster.run(draw(ScheduleKind::kId, 0.4, 50)).value();
  EXPECT_EQ(result.ending, Ending::kByRequest);
  EXPECT_EQ(result.arrivals, 0u);
}

TEST(Cluster, RefusesWhatDoesNotFitTogether) {
  TestCluster threadless({.threads = 0});
  expect_refusal(threadless, {}, "0 threads");
  TestCluster cluster(TestSetting{});
  expect_refusal(cluster, {{.worker = 5}}, "an arrival names worker 5; they are 0 to 4");
  worker::Quadratic narrow({.centre = {1.0f}});
  cluster.sources[1] = &narrow;
  expect_refusal(cluster, {}, "the source of worker 1 has 1 values, the model 3");
  cluster.sources.pop_back();
  expect_refusal(cluster, {}, "5 workers needs as many sources, not 4");
  TestCluster unlabelled({.attack = "label-flip"});
  expect_refusal(unlabelled, {}, "classes");
}

}  // namespace
}  // namespace ballast::sim
