#include "ballast/server/state.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/robust/registry.h"

namespace ballast::server {
namespace {

constexpr std::size_t kWorkers = 6;
constexpr std::size_t kStatistics = 3;
constexpr std::uint64_t kSeed = 11;

struct Setting {
  std::string rule = "cwmed";
  bool is_fast = true;  // the cpu backend, else the reference
  WeightPolicy weights = CountWeights{};
  float offset = 0.0f;  // what all rows have in common
  std::size_t dim = 200;
};

ParameterServer make(const Setting& setting) {
  auto optimizer = optim::make_mu2_server<float>({.eta = 0.1}, optim::ConstantAverage{0.1},
                                                 std::vector<float>(setting.dim));
  ServerParts parts = {
      .rule = robust::parse_rule(setting.rule).value(),
      .backend = setting.is_fast ? kernels::make_cpu_backend(1) : kernels::make_reference_backend(),
      .optimizer = std::move(optimizer).value()};
  const ServerOptions options = {.worker_count = kWorkers,
                                 .statistic_count = kStatistics,
                                 .weights = setting.weights,
                                 .seed = kSeed};
  return ParameterServer::make(options, std::move(parts)).value();
}

std::vector<float> noise(std::size_t count, std::uint64_t step, float offset) {
  Rng rng({.seed = kSeed, .step = step});
  std::vector<float> values(count);
  for (float& value : values) value = offset + static_cast<float>(rng.normal());
  return values;
}

// The update number `step` of a run, from a worker drawn at random; some are refused.
Outcome send(ParameterServer& server, std::uint64_t step, const Setting& setting) {
  Rng rng({.seed = kSeed, .purpose = 1, .step = step});
  const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers + 1));
  if (worker == kWorkers) return server.on_update({.worker = worker, .values = {}});
  if (!server.worker(worker).given) server.on_join(worker).value();
  const auto values = noise(setting.dim, step, setting.offset);
  const auto statistics = noise(kStatistics, ~step, 0.0f);
  return server.on_update({.worker = worker,
                           .sequence = server.worker(worker).sequence + (step % 7 == 0 ? 0 : 1),
                           .version = *server.worker(worker).given,
                           .values = values,
                           .statistics = statistics},
                          Instant(step));
}

bool same_bits(std::span<const float> left, std::span<const float> right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size_bytes()) == 0);
}

bool same(const WorkerRecord& left, const WorkerRecord& right) {
  return left.count == right.count && left.sequence == right.sequence &&
         left.weight == right.weight && left.kept == right.kept &&
         left.staleness == right.staleness && left.last_seen == right.last_seen &&
         left.given == right.given && left.verdicts == right.verdicts;
}

void expect_same(const ServerStateView& left, const ServerStateView& right) {
  EXPECT_EQ(left.accepted_count, right.accepted_count);
  EXPECT_EQ(left.unknown_count, right.unknown_count);
  EXPECT_EQ(left.steps, right.steps);
  EXPECT_TRUE(same_bits(left.w, right.w));
  EXPECT_TRUE(same_bits(left.x, right.x));
  EXPECT_TRUE(same_bits(left.centre, right.centre));
  ASSERT_EQ(left.workers.size(), right.workers.size());
  for (std::size_t i = 0; i < left.workers.size(); ++i) {
    EXPECT_TRUE(same(left.workers[i].record, right.workers[i].record)) << "worker " << i;
    EXPECT_TRUE(same_bits(left.workers[i].row, right.workers[i].row)) << "worker " << i;
    EXPECT_TRUE(same_bits(left.workers[i].statistics, right.workers[i].statistics));
  }
}

// Both servers see the same updates; one of them was made anew in the middle.
void expect_exact_continuation(const Setting& setting, std::uint64_t cut) {
  SCOPED_TRACE(setting.rule + (setting.is_fast ? " cpu" : " reference") + " offset " +
               std::to_string(setting.offset) + " cut " + std::to_string(cut) + " seed " +
               std::to_string(kSeed));
  ParameterServer original = make(setting);
  for (std::uint64_t step = 1; step <= cut; ++step) send(original, step, setting);
  ParameterServer restored = make(setting);
  ASSERT_TRUE(restored.restore(copy(original.state())).has_value());
  expect_same(original.state(), restored.state());
  EXPECT_EQ(original.model().version, restored.model().version);
  EXPECT_TRUE(same_bits(*original.model().values, *restored.model().values));
  for (std::uint64_t step = cut + 1; step <= cut + 25; ++step) {
    const Outcome left = send(original, step, setting);
    const Outcome right = send(restored, step, setting);
    EXPECT_EQ(left.verdict, right.verdict);
    EXPECT_EQ(left.has_stepped, right.has_stepped);
  }
  expect_same(original.state(), restored.state());
}

TEST(ServerState, ARestoredServerGoesOnBitForBitUnderEveryRule) {
  for (const char* rule :
       {"mean", "cwmed", "gm", "ctma(gm, 0.3)", "ctma(cwmed, 0.3)", "cwtm(0.2)", "krum(0.2)",
        "multikrum(0.2)", "mda(0.2)", "nnm(cwmed, 0.2)", "bucketing(gm, 2)", "unweighted(gm)"}) {
    for (const bool is_fast : {false, true}) {
      for (const float offset : {0.0f, 1.0e5f}) {
        expect_exact_continuation({.rule = rule, .is_fast = is_fast, .offset = offset}, 40);
      }
    }
  }
}

TEST(ServerState, ARestoredServerGoesOnFromAnyMoment) {
  for (std::uint64_t cut = 0; cut < 30; ++cut) expect_exact_continuation({.rule = "gm"}, cut);
}

TEST(ServerState, BelowTheQuorumARestoredServerGoesOnCollecting) {
  const Setting setting = {.weights = CappedWeights{.f = 1, .share = 0.25}};
  for (std::uint64_t cut = 0; cut < 12; ++cut) expect_exact_continuation(setting, cut);
}

// Rows that share a large offset move the centre of the products away from the origin, and rows
// that follow depend on it in their last bits: without the centre the test above would be idle.
TEST(ServerState, TheCentreIsPartOfTheState) {
  const Setting setting = {.rule = "gm", .offset = 1.0e5f};
  ParameterServer server = make(setting);
  for (std::uint64_t step = 1; step <= 40; ++step) send(server, step, setting);
  EXPECT_EQ(server.state().centre.size(), setting.dim);
}

TEST(ServerState, RestoreReplacesWhatTheServerHeldBefore) {
  const Setting setting;
  ParameterServer original = make(setting);
  for (std::uint64_t step = 1; step <= 3; ++step) send(original, step, setting);
  ParameterServer other = make(setting);
  for (std::uint64_t step = 100; step <= 130; ++step) send(other, step, setting);
  ASSERT_TRUE(other.restore(copy(original.state())).has_value());
  expect_same(original.state(), other.state());
}

TEST(ServerState, AnImpossibleStateIsRefusedAndChangesNothing) {
  const Setting setting = {.dim = 4};
  ParameterServer server = make(setting);
  for (std::uint64_t step = 1; step <= 20; ++step) send(server, step, setting);
  const ServerState before = copy(server.state());
  using Damage = void (*)(ServerState&);
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"5 workers", [](ServerState& state) { state.workers.pop_back(); }},
      {"row of worker 2 has 3", [](ServerState& state) { state.workers[2].row.pop_back(); }},
      {"row of worker 1 is not finite",
       [](ServerState& state) {
         state.workers[1].row[0] = std::numeric_limits<float>::infinity();
       }},
      {"statistics of worker 0", [](ServerState& state) { state.workers[0].statistics.clear(); }},
      {"worker 3 contradicts", [](ServerState& state) { ++state.workers[3].record.count; }},
      {"worker 3 contradicts", [](ServerState& state) { state.workers[3].record.given = 1000; }},
      {"add up to", [](ServerState& state) { ++state.accepted_count; }},
      {"add up to", [](ServerState& state) { state.optimizer.steps += 1000; }},
      {"the centre has 3", [](ServerState& state) { state.centre.resize(3); }},
      {"w has 3", [](ServerState& state) { state.optimizer.w.resize(3); }},
  };
  for (const auto& [message, damage] : damages) {
    ServerState state = before;
    damage(state);
    const Status refused = server.restore(std::move(state));
    ASSERT_FALSE(refused.has_value()) << message;
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
    expect_same(server.state(), before.view());
  }
}

}  // namespace
}  // namespace ballast::server
