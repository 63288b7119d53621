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
#include "ballast/server/table_method.h"

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
  std::uint64_t past = 0;
};

ParameterServer make(const Setting& setting, std::size_t worker_count = kWorkers) {
  auto optimizer = optim::make_mu2_server<float>({.eta = 0.1}, optim::ConstantAverage{0.1},
                                                 std::vector<float>(setting.dim));
  auto method = make_table_method(
      {.worker_count = worker_count,
       .dim = setting.dim,
       .weights = setting.weights,
       .seed = kSeed,
       .past = setting.past},
      robust::parse_rule(setting.rule).value(),
      setting.is_fast ? kernels::make_cpu_backend(1) : kernels::make_reference_backend());
  return ParameterServer::make(
             {.worker_count = worker_count, .statistic_count = kStatistics},
             {.method = std::move(method).value(), .optimizer = std::move(optimizer).value()})
      .value();
}

std::vector<float> noise(std::size_t count, std::uint64_t step, float offset) {
  Rng rng({.seed = kSeed, .step = step});
  std::vector<float> values(count);
  for (float& value : values) value = offset + static_cast<float>(rng.normal());
  return values;
}

// Event number `step` of a run: an update of a worker drawn at random, some of them refused, and
// now and then a worker that leaves or comes back without memory.
Outcome send(ParameterServer& server, std::uint64_t step, const Setting& setting) {
  Rng rng({.seed = kSeed, .purpose = 1, .step = step});
  const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers + 1));
  if (worker == kWorkers) return server.on_update({.worker = 99, .values = {}}).outcome;
  const auto what = rng.below(12);
  if (what == 0) server.on_leave(worker);
  if (what == 1) server.on_join(worker, Memory::kFresh);
  if (!server.has_ticket(worker)) server.on_join(worker, Memory::kKept);
  wire::Ticket ticket = server.state().senders[worker].ticket.value();
  if (step % 7 == 0) --ticket.sequence;
  const auto values = noise(setting.dim, step, setting.offset);
  const auto statistics = noise(kStatistics, ~step, 0.0f);
  return server
      .on_update({.worker = worker, .ticket = ticket, .values = values, .statistics = statistics},
                 Instant(step))
      .outcome;
}

bool same_bits(std::span<const float> left, std::span<const float> right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size_bytes()) == 0);
}

bool same(const SenderRecord& left, const SenderRecord& right) {
  return left.sequence == right.sequence && left.issued == right.issued &&
         left.staleness == right.staleness && left.last_seen == right.last_seen &&
         left.verdicts == right.verdicts && left.ticket == right.ticket;
}

void expect_same(const ServerStateView& left, const ServerStateView& right) {
  EXPECT_EQ(left.accepted_count, right.accepted_count);
  EXPECT_EQ(left.unknown_count, right.unknown_count);
  EXPECT_EQ(left.steps, right.steps);
  EXPECT_TRUE(same_bits(left.w, right.w));
  EXPECT_TRUE(same_bits(left.x, right.x));
  EXPECT_TRUE(same_bits(left.last_statistics, right.last_statistics));
  EXPECT_EQ(left.method, right.method);
  EXPECT_EQ(left.method_state.numbers, right.method_state.numbers);
  ASSERT_EQ(left.method_state.vectors.size(), right.method_state.vectors.size());
  for (std::size_t i = 0; i < left.method_state.vectors.size(); ++i) {
    const NamedVectorView &one = left.method_state.vectors[i],
                          &other = right.method_state.vectors[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.revision, other.revision) << one.name;
    EXPECT_TRUE(same_bits(one.values, other.values)) << one.name;
  }
  ASSERT_EQ(left.senders.size(), right.senders.size());
  for (std::size_t i = 0; i < left.senders.size(); ++i) {
    EXPECT_TRUE(same(left.senders[i], right.senders[i])) << "worker " << i;
    EXPECT_TRUE(same_bits(left.statistics[i], right.statistics[i])) << "worker " << i;
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
        "multikrum(0.2)", "mda(0.2)", "smea(0.2)", "caf(0.2)", "dnc(0.2, 2, 3)",
        "cclip(previous, 1, steps=2)", "nnm(cwmed, 0.2)", "bucketing(gm, 2)", "unweighted(gm)"}) {
    for (const bool is_fast : {false, true}) {
      for (const float offset : {0.0f, 1.0e5f}) {
        expect_exact_continuation({.rule = rule, .is_fast = is_fast, .offset = offset}, 40);
      }
    }
  }
}

TEST(ServerState, ARestoredServerWithAPastGoesOnBitForBit) {
  for (const char* rule : {"mean", "gm", "ctma(gm, 0.3)", "ctma(cwmed, 0.3)", "krum(0.2)",
                           "mda(0.2)", "dnc(0.2, 2, 3)", "distinct(ctma(gm, 0.2))",
                           "ctma(previous, 0.3)", "nnm(gm, 0.2)", "bucketing(gm, 2)"}) {
    for (const bool is_fast : {false, true}) {
      for (const float offset : {0.0f, 1.0e5f}) {
        expect_exact_continuation({.rule = rule, .is_fast = is_fast, .offset = offset, .past = 5},
                                  40);
      }
    }
  }
}

TEST(ServerState, ARestoredServerGoesOnFromAnyMoment) {
  for (std::uint64_t cut = 0; cut < 30; ++cut) {
    expect_exact_continuation({.rule = "gm"}, cut);
    expect_exact_continuation({.rule = "ctma(gm, 0.2)", .past = 4}, cut);
  }
}

TEST(ServerState, BelowTheQuorumARestoredServerGoesOnCollecting) {
  Setting setting = {.weights = CappedWeights{.f = 1, .share = 0.25}};
  for (std::uint64_t cut = 0; cut < 12; ++cut) expect_exact_continuation(setting, cut);
  setting.rule = "gm";
  setting.past = 4;
  for (std::uint64_t cut = 0; cut < 12; ++cut) expect_exact_continuation(setting, cut);
}

// Rows that share a large offset move the centre of the products away from the origin, and rows
// that follow depend on it in their last bits: without the centre the test above would be idle.
TEST(ServerState, TheCentreIsPartOfTheState) {
  const Setting setting = {.rule = "gm", .offset = 1.0e5f};
  ParameterServer server = make(setting);
  for (std::uint64_t step = 1; step <= 40; ++step) send(server, step, setting);
  const MethodStateView state = server.state().method_state;
  ASSERT_EQ(state.vectors.front().name, "centre");
  EXPECT_EQ(state.vectors.front().values.size(), setting.dim);
}

// Below the quorum there is no direction, and averages are as far from the origin as the rows.
TEST(ServerState, TheCentreOfThePastIsPartOfTheState) {
  const Setting setting = {
      .rule = "gm", .weights = CappedWeights{.f = 1, .share = 0.25}, .offset = 1.0e5f, .past = 40};
  ParameterServer server = make(setting);
  bool has_centre = false;
  for (std::uint64_t step = 1; step <= 40; ++step) {
    send(server, step, setting);
    MethodState state = copy(server.state()).method_state;
    if (state.find_vector("past-centre") == nullptr) continue;
    has_centre = true;
    expect_exact_continuation(setting, step);
  }
  EXPECT_TRUE(has_centre);
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

std::vector<float>& row(ServerState& state, int worker) {
  return state.method_state.find_vector("row-" + std::to_string(worker))->values;
}

std::vector<double>& counts(ServerState& state) { return state.method_state.numbers[0].values; }

// All workers take part, so that each of them has something to damage.
TEST(ServerState, AnImpossibleStateIsRefusedAndChangesNothing) {
  const Setting setting = {.dim = 4};
  ParameterServer server = make(setting);
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    const auto ticket = server.on_join(i)->ticket;
    const auto values = noise(4, i, 0.0f), statistics = noise(kStatistics, i, 0.0f);
    server.on_update({.worker = i, .ticket = ticket, .values = values, .statistics = statistics});
  }
  const ServerState before = copy(server.state());
  using Damage = void (*)(ServerState&);
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"7 workers",
       [](ServerState& state) {
         state.senders.emplace_back();
         state.statistics.emplace_back();
       }},
      {"row-2 is not 4", [](ServerState& state) { row(state, 2).pop_back(); }},
      {"row-1 is not 4",
       [](ServerState& state) { row(state, 1)[0] = std::numeric_limits<float>::infinity(); }},
      {"worker 0 contradicts",
       [](ServerState& state) { state.method_state.find_vector("row-0")->name = "row-9"; }},
      {"vectors that no table has",
       [](ServerState& state) {
         state.method_state.vectors.push_back({"row-9", 0, std::vector<float>(4)});
       }},
      {"statistics of worker 0", [](ServerState& state) { state.statistics[0].pop_back(); }},
      {"worker 3 contradicts", [](ServerState& state) { counts(state)[3] += 1000.0; }},
      {"worker 3 contradicts", [](ServerState& state) { counts(state)[3] = 0.5; }},
      {"worker 3 contradicts",
       [](ServerState& state) { state.senders[3].ticket = wire::Ticket{.version = 1000}; }},
      {"worker 3 contradicts", [](ServerState& state) { state.senders[3].sequence = 0; }},
      {"at most 6 rows", [](ServerState& state) { counts(state).push_back(0.0); }},
      // Found by the fuzzer: more rows than senders.
      {"at most 6 rows",
       [](ServerState& state) {
         state.senders.pop_back();
         state.statistics.pop_back();
         state.accepted_count = state.optimizer.steps = 5;
       }},
      {"add up to", [](ServerState& state) { ++state.accepted_count; }},
      {"add up to", [](ServerState& state) { state.optimizer.steps += 1000; }},
      {"w has 3", [](ServerState& state) { state.optimizer.w.resize(3); }},
      {"the method other", [](ServerState& state) { state.method = "other"; }},
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

TEST(ServerState, AServerWithMoreWorkersGoesOnFromTheState) {
  for (const std::uint64_t past : {0u, 4u}) {
    const Setting setting = {.rule = "gm", .past = past};
    ParameterServer small = make(setting);
    for (std::uint64_t step = 1; step <= 30; ++step) send(small, step, setting);
    ParameterServer large = make(setting, kWorkers + 2);
    ASSERT_TRUE(large.restore(copy(small.state())));
    EXPECT_EQ(large.worker(kWorkers + 1).lifetime_count, 0u);
    for (std::uint64_t step = 31; step <= 60; ++step) {
      EXPECT_EQ(send(small, step, setting).verdict, send(large, step, setting).verdict);
    }
    EXPECT_TRUE(same_bits(*small.model().values, *large.model().values));
  }
}

}  // namespace
}  // namespace ballast::server
