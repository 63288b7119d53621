// A run that is cut and restored goes on bit for bit, and a damaged state is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ballast/methods/method_run_for_test.h"

namespace ballast::methods {
namespace {

const std::vector<std::string> kTexts = {"table",
                                         "table(past=6)",
                                         "asgd",
                                         "delay-adaptive(drop, concurrency=3)",
                                         "picky(1.2)",
                                         "fedbuff(4)",
                                         "throttle(1.5, 2, 0.5)",
                                         "kardam(2)",
                                         "kardam(1, exponential, reference=accepted)",
                                         "basgd(5, cwtm(0.2), reassign=6)",
                                         "basgdm(4, gm)",
                                         "zeno++",
                                         "aflguard"};

class State : public testing::TestWithParam<std::string> {};

TEST_P(State, OfACutRunGoesOnBitForBit) {
  for (const int cut : {0, 1, 13, 50, 101}) {
    MethodRun whole(GetParam());
    for (int i = 0; i < cut; ++i) whole.deliver_next();
    MethodRun resumed(GetParam(), whole);
    for (int i = 0; i < 100; ++i) {
      const Delivery expected = whole.deliver_next();
      const Delivery delivered = resumed.deliver_next();
      ASSERT_EQ(delivered.outcome.verdict, expected.outcome.verdict) << cut << ", " << i;
      ASSERT_EQ(resumed.model(), whole.model()) << cut << ", " << i;
    }
    const server::MethodState state = server::copy(whole.server().state()).method_state;
    const server::MethodState again = server::copy(resumed.server().state()).method_state;
    EXPECT_EQ(again.numbers, state.numbers);
    ASSERT_EQ(again.vectors.size(), state.vectors.size());
    for (std::size_t i = 0; i < state.vectors.size(); ++i) {
      EXPECT_EQ(again.vectors[i].name, state.vectors[i].name);
      EXPECT_EQ(again.vectors[i].revision, state.vectors[i].revision);
      EXPECT_EQ(again.vectors[i].values, state.vectors[i].values);
    }
  }
}

// A checkpoint links vectors whose revision it knows, so equal revisions must mean equal values.
TEST_P(State, ARevisionNeverComesBackWithOtherValues) {
  MethodRun run(GetParam());
  std::map<std::pair<std::string, std::uint64_t>, Floats> known;
  const auto note = [&](const char* when) {
    const server::ServerState state = server::copy(run.server().state());
    for (const server::NamedVector& vector : state.method_state.vectors) {
      const auto [entry, is_new] = known.try_emplace({vector.name, vector.revision}, vector.values);
      EXPECT_EQ(entry->second, vector.values) << vector.name << when;
    }
  };
  for (int i = 0; i < 100; ++i) {
    run.deliver_next();
    note(" after an update");
  }
  run.server().on_leave(3);
  note(" after a worker left");
}

TEST_P(State, ThatIsDamagedIsRefusedAndChangesNothing) {
  MethodRun run(GetParam());
  for (int i = 0; i < 60; ++i) run.deliver_next();
  const server::ServerState good = server::copy(run.server().state());
  const auto refuses = [&](auto damage) {
    MethodRun other(GetParam());
    for (int i = 0; i < 20; ++i) other.deliver_next();
    const server::ServerState before = server::copy(other.server().state());
    server::ServerState bad = server::copy(good.view());
    damage(bad.method_state);
    EXPECT_FALSE(other.server().restore(std::move(bad)).has_value());
    EXPECT_EQ(server::copy(other.server().state()).method_state.numbers,
              before.method_state.numbers);
  };
  for (std::size_t i = 0; i < good.method_state.numbers.size(); ++i) {
    SCOPED_TRACE(good.method_state.numbers[i].name);
    refuses([i](server::MethodState& state) {
      state.numbers.erase(state.numbers.begin() + static_cast<std::ptrdiff_t>(i));
    });
    refuses([i](server::MethodState& state) { state.numbers[i].values.resize(5000, 1.0); });
    if (good.method_state.numbers[i].values.empty()) continue;
    refuses([i](server::MethodState& state) { state.numbers[i].values[0] = NAN; });
  }
  for (std::size_t i = 0; i < good.method_state.vectors.size(); ++i) {
    SCOPED_TRACE(good.method_state.vectors[i].name);
    refuses([i](server::MethodState& state) { state.vectors[i].values.pop_back(); });
    refuses([i](server::MethodState& state) { state.vectors[i].values[0] = NAN; });
  }
  refuses([](server::MethodState& state) { state.vectors.push_back({"stranger", 1, {}}); });
  refuses([](server::MethodState& state) { state.numbers.push_back({"stranger", {1.0}}); });
}

// Workers that were enrolled after the checkpoint never sent.
TEST_P(State, FitsAServerWithMoreWorkers) {
  MethodRun run(GetParam());
  for (int i = 0; i < 60; ++i) run.deliver_next();
  auto larger = make_server(GetParam(), 9, Floats(5)).value();
  const Status is_restored = larger.restore(server::copy(run.server().state()));
  ASSERT_TRUE(is_restored.has_value()) << is_restored.error().message;
  EXPECT_EQ(larger.worker(8).count, 0u);
  EXPECT_EQ(larger.worker(5).count, run.server().worker(5).count);
  EXPECT_TRUE(larger.on_join(8).has_value());
}

// What a server's memory budget counts on: a row per worker, a few sums, and what it says.
TEST_P(State, HoldsNoMoreVectorsThanTheMethodSays) {
  constexpr std::size_t kSums = 3;
  MethodRun run(GetParam());
  for (int i = 0; i < 200; ++i) {
    run.deliver_next();
    const std::size_t kept = run.server().state().method_state.vectors.size();
    const std::size_t further = run.server().method().further_vectors();
    ASSERT_LE(kept, run.server().worker_count() + kSums + further) << i;
  }
}

TEST_P(State, OfAWorkerThatLeftIsForgotten) {
  MethodRun run(GetParam());
  for (int i = 0; i < 60; ++i) run.deliver_next();
  ASSERT_GT(run.server().worker(6).count, 0u);
  run.server().on_leave(6);
  EXPECT_EQ(run.server().worker(6).count, 0u);
}

INSTANTIATE_TEST_SUITE_P(Methods, State, testing::ValuesIn(kTexts),
                         [](const auto& which) { return "Case" + std::to_string(which.index); });

}  // namespace
}  // namespace ballast::methods
