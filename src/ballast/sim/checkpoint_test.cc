// A run that is cut anywhere and goes on is the same run.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/sim/cluster_state.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/test_cluster.h"

namespace ballast::sim {
namespace {

constexpr Population kPopulation = {.honest = 3, .byzantine = 2};

std::vector<Arrival> draw(std::size_t count) {
  return draw_arrivals(
             ScheduleOptions{
                 .kind = ScheduleKind::kId, .workers = kPopulation, .share = 0.4, .seed = 11},
             count)
      .value();
}

ClusterState copy(const ClusterStateView& view) {
  ClusterState state{.arrivals = view.arrivals,
                     .byzantine_arrivals = view.byzantine_arrivals,
                     .server = server::copy(view.server),
                     .workers = view.workers,
                     .adversary = {.updates = {},
                                   .counts = view.adversary.counts,
                                   .last_honest = view.adversary.last_honest,
                                   .memory = {}},
                     .held = view.held};
  for (const auto& update : view.adversary.updates) {
    state.adversary.updates.emplace_back(update.begin(), update.end());
  }
  if (view.adversary.memory != nullptr) state.adversary.memory = *view.adversary.memory;
  return state;
}

// Keeps the state after each arrival.
class KeepAll final : public CheckpointSink {
 public:
  bool is_due() override { return true; }
  Status save(const ClusterStateView& view) override {
    states.push_back(copy(view));
    return {};
  }

  std::vector<ClusterState> states;
};

void expect_the_same_wherever_it_is_cut(TestSetting setting) {
  const std::vector<Arrival> arrivals = draw(40);
  KeepAll all;
  TestCluster whole(setting);
  whole.checkpoints = &all;
  const RunResult result = whole.run(arrivals).value();
  ASSERT_EQ(all.states.size(), 39u);  // none is needed after the last one
  for (ClusterState& state : all.states) {
    SCOPED_TRACE(state.arrivals);
    const std::uint64_t before = state.arrivals;
    TestCluster second(setting);
    const RunResult rest = second.go_on(arrivals, std::move(state)).value();
    EXPECT_EQ(rest.arrivals, 40u);
    EXPECT_EQ(rest.byzantine_arrivals, result.byzantine_arrivals);
    const std::vector<Seen>& seen = whole.recorder().seen;
    const std::vector<Seen> expected(seen.begin() + std::ptrdiff_t(before), seen.end());
    EXPECT_EQ(second.recorder().seen, expected);
    EXPECT_EQ(second.server().statistics(), whole.server().statistics());
  }
}

TEST(Checkpoint, ARunGoesOnBitForBit) {
  for (const std::size_t threads : {1, 3}) {
    expect_the_same_wherever_it_is_cut({.threads = threads});
  }
  expect_the_same_wherever_it_is_cut({.rule = "ctma(gm, 0.4)", .attack = "sign-flip"});
}

TEST(Checkpoint, AlsoWithColludersAndReplyOfThePaper) {
  for (const std::string attack :
       {"empire(0.1)", "little", "mimic(0)", "gaussian(1)", "little-search", "empire-search"}) {
    SCOPED_TRACE(attack);
    expect_the_same_wherever_it_is_cut(
        {.reply = server::Reply::kPaper, .rule = "cwmed", .attack = attack, .threads = 2});
  }
}

// What is held back, remembered and tried goes on as well.
TEST(Checkpoint, AlsoWithAttacksThatRememberAndChooseTheirTime) {
  for (const std::string attack :
       {"stale-replay(3)", "stale-replay(3, own)", "delayed-burst(empire, 4)", "ambush(little, 1)",
        "opportunist(sign-flip, 1.2, 5)", "not-finite"}) {
    SCOPED_TRACE(attack);
    expect_the_same_wherever_it_is_cut({.rule = "gm", .attack = attack, .threads = 2});
  }
}

TEST(Checkpoint, AlsoWithStatisticsStalenessAndOtherEstimators) {
  TestSetting setting{.estimator = optim::MomentumEstimator{}, .averaging = std::nullopt};
  setting.quadratic.has_statistics = true;
  setting.staleness_max = 3;
  setting.weights = server::CappedWeights{.f = 1, .share = 0.25};
  expect_the_same_wherever_it_is_cut(setting);
  setting.attack = "batch-norm(-10)";
  expect_the_same_wherever_it_is_cut(setting);
  setting.estimator = optim::SgdEstimator{};
  expect_the_same_wherever_it_is_cut(setting);
}

TEST(Checkpoint, ARunThatIsStoppedIsSavedInAnyCase) {
  class KeepLast final : public CheckpointSink {
   public:
    bool is_due() override { return false; }
    Status save(const ClusterStateView& view) override {
      state = copy(view);
      return {};
    }
    std::optional<ClusterState> state;
  };
  const std::atomic<bool> stop = true;
  KeepLast last;
  TestCluster cluster(TestSetting{});
  cluster.stop = &stop;
  cluster.checkpoints = &last;
  EXPECT_EQ(cluster.run(draw(40)).value().ending, Ending::kByRequest);
  ASSERT_TRUE(last.state);
  EXPECT_EQ(last.state->arrivals, 0u);
}

TEST(Checkpoint, AnErrorOfTheSinkEndsTheRun) {
  class Full final : public CheckpointSink {
   public:
    bool is_due() override { return true; }
    Status save(const ClusterStateView&) override { return io_error("the disk is full"); }
  };
  Full full;
  TestCluster cluster(TestSetting{});
  cluster.checkpoints = &full;
  const auto result = cluster.run(draw(40));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the disk is full");
}

TEST(Checkpoint, TheStateOfAnotherRunIsRefused) {
  const std::vector<Arrival> arrivals = draw(40);
  const auto state_after_ten = [&] {
    KeepAll all;
    TestCluster cluster({.attack = "empire(0.1)"});
    cluster.checkpoints = &all;
    EXPECT_TRUE(cluster.run(arrivals));
    return all.states.at(9);
  };
  const auto is_refused = [&](ClusterState state) {
    TestCluster cluster({.attack = "empire(0.1)"});
    return !cluster.go_on(arrivals, std::move(state)).has_value();
  };
  EXPECT_FALSE(is_refused(state_after_ten()));
  ClusterState state = state_after_ten();
  state.workers.pop_back();
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.arrivals = 41;
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  for (WorkerProgress& worker : state.workers) worker.has_update = false;
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.adversary.counts.clear();
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.adversary.updates[0].pop_back();
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.adversary.last_honest = 3;
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.adversary.last_honest.reset();
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.adversary.memory.numbers = {1.0};
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.held = 1;
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.workers[0].state.previous_model.push_back(1.0f);
  EXPECT_TRUE(is_refused(state));
  state = state_after_ten();
  state.server.optimizer.w.pop_back();
  EXPECT_TRUE(is_refused(state));
}

}  // namespace
}  // namespace ballast::sim
