#include "ballast/server/parameter_server.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/kernels/device_for_test.h"
#include "ballast/robust/registry.h"
#include "ballast/server/state.h"
#include "ballast/server/table_method.h"
#include "ballast/server/weight_policy.h"

namespace ballast::server {
namespace {

using Values = std::vector<float>;

struct Setting {
  ServerOptions options{.worker_count = 3};
  WeightPolicy weights = CountWeights{};
  std::size_t rows_min = 1;
  std::string rule = "mean";
  double eta = 1.0;
  std::optional<double> gamma = std::nullopt;  // given: the server of mu^2-SGD
  Values start = {0.0f, 0.0f};
};

optim::ServerOptimizerPointer<float> make_optimizer(const Setting& setting) {
  const optim::StepOptions step{.eta = setting.eta};
  auto optimizer = setting.gamma ? optim::make_mu2_server<float>(
                                       step, optim::ConstantAverage{*setting.gamma}, setting.start)
                                 : optim::make_sgd_server<float>(step, setting.start);
  return std::move(optimizer).value();
}

Result<ParameterServer> try_make(const Setting& setting) {
  BALLAST_TRY(auto method, make_table_method({.worker_count = setting.options.worker_count,
                                              .dim = setting.start.size(),
                                              .weights = setting.weights,
                                              .rows_min = setting.rows_min},
                                             robust::parse_rule(setting.rule).value(),
                                             kernels::make_reference_backend()));
  return ParameterServer::make(setting.options,
                               {.method = std::move(method), .optimizer = make_optimizer(setting)});
}

ParameterServer join_all(ParameterServer server) {
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) server.on_join(i);
  return server;
}

ParameterServer make(const Setting& setting = {}) { return join_all(try_make(setting).value()); }

wire::Ticket ticket_of(const ParameterServer& server, std::uint32_t worker) {
  return server.state().senders[worker].ticket.value();
}

// The update an honest transport would deliver: under the ticket that the worker has.
Judgement judge(ParameterServer& server, std::uint32_t worker, const Values& values,
                const Values& statistics = {}) {
  return server.on_update({.worker = worker,
                           .ticket = ticket_of(server, worker),
                           .values = values,
                           .statistics = statistics});
}

Outcome send(ParameterServer& server, std::uint32_t worker, const Values& values,
             const Values& statistics = {}) {
  return judge(server, worker, values, statistics).outcome;
}

Values model(const ParameterServer& server) { return *server.model().values; }

TEST(ParameterServer, OneUpdateMovesTheModelByItself) {
  ParameterServer server = make();
  const Outcome outcome = send(server, 1, {2.0f, -4.0f});
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_TRUE(outcome.has_stepped);
  EXPECT_EQ(server.model().version, 1u);
  EXPECT_EQ(model(server), (Values{-2.0f, 4.0f}));
  EXPECT_EQ(server.worker(1).count, 1u);
  EXPECT_EQ(server.worker(0).count, 0u);
}

// Worker 0 twice, worker 1 once: the rows (3, 0) and (0, 3) weigh 2 and 1.
TEST(ParameterServer, RowsAreWeighedByTheirCounts) {
  ParameterServer server = make();
  send(server, 0, {9.0f, 9.0f});
  send(server, 0, {3.0f, 0.0f});
  const Values before = model(server);
  send(server, 1, {0.0f, 3.0f});
  EXPECT_FLOAT_EQ(model(server)[0], before[0] - 2.0f);
  EXPECT_FLOAT_EQ(model(server)[1], before[1] - 1.0f);
  EXPECT_EQ(server.worker(0).weight, 2 * kWeightUnits);
  EXPECT_EQ(server.worker(2).weight, 0u);
}

TEST(ParameterServer, UniformWeightsIgnoreTheCounts) {
  ParameterServer server = make({.weights = UniformWeights{}});
  send(server, 0, {9.0f, 9.0f});
  send(server, 0, {3.0f, 0.0f});
  const Values before = model(server);
  send(server, 1, {0.0f, 3.0f});
  EXPECT_FLOAT_EQ(model(server)[0], before[0] - 1.5f);
  EXPECT_FLOAT_EQ(model(server)[1], before[1] - 1.5f);
}

TEST(ParameterServer, TheReplyIsTheNewestModelOrTheOneBefore) {
  for (const Reply reply : {Reply::kNewest, Reply::kPaper}) {
    ParameterServer server = make({.options = {.worker_count = 2, .reply = reply}});
    send(server, 0, {1.0f, 1.0f});
    const Snapshot given = judge(server, 1, {3.0f, 3.0f}).next.value().model;
    const bool is_newest = reply == Reply::kNewest;
    EXPECT_EQ(given.version, is_newest ? 2u : 1u);
    EXPECT_EQ(*given.values, is_newest ? (Values{-3.0f, -3.0f}) : (Values{-1.0f, -1.0f}));
    EXPECT_EQ(server.worker(1).given, given.version);
  }
}

TEST(ParameterServer, StalenessCountsTheVersionsSinceTheModelWasGiven) {
  ParameterServer server = make();
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 0u);
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 0u);
  EXPECT_EQ(send(server, 1, {1.0f, 1.0f}).staleness, 2u);
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 1u);
}

// On a device a model that nobody asks for is not brought to the host.
TEST(ParameterServer, ModelsMayStayWhereTheyAre) {
  const auto device = std::make_shared<const kernels::DeviceBackend>();
  auto method =
      make_table_method({.worker_count = 2, .dim = 2}, robust::parse_rule("mean").value(), device);
  auto optimizer = optim::make_sgd_server<float>({.eta = 1.0, .backend = device}, {0.0f, 0.0f});
  ParameterServer server =
      join_all(ParameterServer::make(
                   {.worker_count = 2, .shows_models = false},
                   {.method = std::move(method).value(), .optimizer = std::move(optimizer).value()})
                   .value());
  ParameterServer shown = make({.options = {.worker_count = 2}});
  EXPECT_EQ(server.dim(), 2u);
  const std::size_t before = device->traffic().values_read;
  for (const Values& values : {Values{1.0f, 2.0f}, Values{-3.0f, 0.5f}}) {
    for (const std::uint32_t worker : {0u, 1u}) {
      // Not by judge(), which looks at the state and so reads all of it.
      const wire::Ticket ticket = server.on_join(worker, Memory::kKept).value().ticket;
      const auto next =
          server.on_update({.worker = worker, .ticket = ticket, .values = values}).next.value();
      EXPECT_EQ(next.model.version, judge(shown, worker, values).next.value().model.version);
      EXPECT_EQ(next.model.values, nullptr);
    }
  }
  EXPECT_EQ(device->traffic().values_read, before);
  Values read(2);
  server.read_model(read);
  EXPECT_EQ(read, model(shown));
}

TEST(ParameterServer, ASnapshotNeverChanges) {
  ParameterServer server = make();
  const Snapshot first = server.model();
  send(server, 0, {1.0f, 1.0f});
  EXPECT_EQ(*first.values, (Values{0.0f, 0.0f}));
  EXPECT_EQ(first.version, 0u);
}

// Everything a peer can get wrong, one verdict each, and no trace of it but the tally.
TEST(ParameterServer, ARefusedUpdateChangesNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  ParameterServer server = make(
      {.options = {.worker_count = 3, .statistic_count = 1, .admission = {.staleness_max = 1}}});
  const Values good = {1.0f, 1.0f}, one = {1.0f};
  const wire::Ticket used = ticket_of(server, 0);
  send(server, 0, good, one);
  send(server, 0, good, one);
  const auto with = [&](auto change) {
    wire::Ticket ticket = ticket_of(server, 0);
    change(ticket);
    return ticket;
  };
  const struct {
    std::uint32_t worker;
    wire::Ticket ticket;
    Values values;
    Values statistics;
    Verdict verdict;
  } cases[] = {
      {3, used, good, one, Verdict::kUnknownWorker},
      {0, used, good, one, Verdict::kReplayed},
      {0, with([](auto& ticket) { ticket.sequence = 0; }), good, one, Verdict::kReplayed},
      {0, with([](auto& ticket) { ++ticket.sequence; }), good, one, Verdict::kUnasked},
      {0, with([](auto& ticket) { ticket.version = 99; }), good, one, Verdict::kUnasked},
      {0, with([](auto& ticket) { ++ticket.incarnation; }), good, one, Verdict::kUnasked},
      {0, ticket_of(server, 2), good, one, Verdict::kUnasked},
      {1, ticket_of(server, 1), good, one, Verdict::kStale},
  };
  const Values model_before = model(server);
  for (const auto& [worker, ticket, values, statistics, verdict] : cases) {
    SCOPED_TRACE(name(verdict));
    const Outcome outcome =
        server
            .on_update(
                {.worker = worker, .ticket = ticket, .values = values, .statistics = statistics})
            .outcome;
    EXPECT_EQ(outcome.verdict, verdict);
    EXPECT_FALSE(outcome.has_stepped);
  }
  EXPECT_EQ(send(server, 0, one, one).verdict, Verdict::kWrongShape);
  EXPECT_EQ(send(server, 0, good, {}).verdict, Verdict::kWrongShape);
  EXPECT_EQ(send(server, 0, {1.0f, nan}, one).verdict, Verdict::kNotFinite);
  EXPECT_EQ(send(server, 0, {-infinity, 1.0f}, one).verdict, Verdict::kNotFinite);
  EXPECT_EQ(send(server, 0, good, {nan}).verdict, Verdict::kNotFinite);
  EXPECT_EQ(model(server), model_before);
  EXPECT_EQ(server.model().version, 2u);
  EXPECT_EQ(server.accepted_count(), 2u);
  EXPECT_EQ(server.unknown_count(), 1u);
  EXPECT_EQ(server.worker(0).count, 2u);
  EXPECT_EQ(server.worker(0).given, 2u);
  EXPECT_EQ(server.worker(0).verdicts[static_cast<std::size_t>(Verdict::kNotFinite)], 3u);
  EXPECT_EQ(server.worker(1).verdicts[static_cast<std::size_t>(Verdict::kStale)], 1u);
  EXPECT_EQ(send(server, 0, good, one).verdict, Verdict::kAccepted);
}

TEST(ParameterServer, AWorkerThatJoinsAgainMustComputeOnTheNewModel) {
  ParameterServer server = make();
  send(server, 0, {1.0f, 1.0f});
  const wire::Ticket old = ticket_of(server, 1);
  const Assignment again = server.on_join(1).value();
  EXPECT_EQ(again.model.version, 1u);
  const Values good = {1.0f, 1.0f};
  EXPECT_EQ(server.on_update({.worker = 1, .ticket = old, .values = good}).outcome.verdict,
            Verdict::kUnasked);
  EXPECT_EQ(send(server, 1, good).verdict, Verdict::kAccepted);
}

TEST(ParameterServer, MoreRowsMayBeAskedForThanTheWeightsNeed) {
  ParameterServer server = make({.rows_min = 2});
  send(server, 0, {1.0f, 1.0f});
  EXPECT_TRUE(server.pause_reason().has_value());
  EXPECT_EQ(server.model().version, 0u);
  send(server, 1, {1.0f, 1.0f});
  EXPECT_FALSE(server.pause_reason().has_value());
  EXPECT_EQ(server.model().version, 1u);
}

TEST(ParameterServer, BelowTheQuorumRowsAreCollectedWithoutAStep) {
  ParameterServer server = make({.weights = CappedWeights{.f = 1, .share = 0.4}});
  EXPECT_FALSE(send(server, 0, {1.0f, 1.0f}).has_stepped);
  EXPECT_FALSE(send(server, 1, {1.0f, 1.0f}).has_stepped);
  EXPECT_EQ(server.model().version, 0u);
  EXPECT_EQ(server.worker(0).count, 1u);
  EXPECT_TRUE(send(server, 2, {4.0f, 4.0f}).has_stepped);
  EXPECT_EQ(model(server), (Values{-2.0f, -2.0f}));
}

TEST(ParameterServer, NoFloodLiftsTheHeaviestAboveTheShare) {
  ParameterServer server = make({.options = {.worker_count = 5},
                                 .weights = CappedWeights{.f = 1, .share = 0.25},
                                 .eta = 0.1});
  for (std::uint32_t i = 0; i < 5; ++i) send(server, i, {1.0f, 0.0f});
  for (int flood = 0; flood < 100; ++flood) {
    send(server, 4, {-1.0f, 0.0f});
    std::vector<std::uint64_t> weights;
    for (std::uint32_t i = 0; i < 5; ++i) weights.push_back(server.worker(i).weight);
    ASSERT_LE(share_of_heaviest(1, weights), 0.25);
  }
  EXPECT_EQ(server.worker(4).count, 101u);
}

TEST(ParameterServer, AStepOutOfTheFiniteNumbersIsNotTaken) {
  ParameterServer server = make({.eta = 1e30});
  const Outcome outcome = send(server, 0, {3e38f, 0.0f});
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_FALSE(outcome.has_stepped);
  EXPECT_TRUE(outcome.has_diverged);
  EXPECT_EQ(model(server), (Values{0.0f, 0.0f}));
  EXPECT_EQ(server.model().version, 0u);
}

// Statistics 1, 2 and 90 with counts 1, 2 and 2: the median by weight is 2.
TEST(ParameterServer, StatisticsAreCombinedByTheWeightedMedian) {
  ParameterServer server = make({.options = {.worker_count = 3, .statistic_count = 1}});
  EXPECT_FALSE(server.statistics());
  const Values good = {1.0f, 1.0f};
  send(server, 0, good, {1.0f});
  send(server, 1, good, {5.0f});
  send(server, 1, good, {2.0f});
  send(server, 2, good, {90.0f});
  send(server, 2, good, {90.0f});
  EXPECT_EQ(server.statistics().value(), Values{2.0f});
}

// A model that was stopped while too few workers are left is evaluated with what they last said.
TEST(ParameterServer, StatisticsOfAPauseAreThoseOfTheMomentBefore) {
  ParameterServer server = make({.options = {.worker_count = 3, .statistic_count = 1},
                                 .weights = CappedWeights{.f = 1, .share = 0.4}});
  const Values good = {1.0f, 1.0f};
  send(server, 0, good, {1.0f});
  EXPECT_FALSE(server.statistics());  // below the quorum nobody's statistics count yet
  send(server, 1, good, {2.0f});
  send(server, 2, good, {90.0f});
  EXPECT_EQ(server.statistics().value(), Values{2.0f});
  server.on_leave(1);
  EXPECT_TRUE(server.pause_reason());
  EXPECT_EQ(server.statistics().value(), Values{2.0f});
  server.on_leave(0);
  server.on_leave(2);
  EXPECT_EQ(server.statistics().value(), Values{2.0f});

  ParameterServer restored = make({.options = {.worker_count = 3, .statistic_count = 1},
                                   .weights = CappedWeights{.f = 1, .share = 0.4}});
  ASSERT_TRUE(restored.restore(copy(server.state())));
  EXPECT_EQ(restored.statistics().value(), Values{2.0f});
}

// Answers every third update with the sum of the three, refuses negative ones.
class SumOfThree final : public Method {
 public:
  std::string description() const override { return "sum-of-three"; }
  Answer on_update(const AdmittedUpdate& update) override {
    if (update.values[0] < 0.0f) return Answer::refused();
    if (held_ == 0) sum_.assign(update.values.size(), 0.0f);
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += update.values[i];
    held_ = (held_ + 1) % 3;
    return held_ == 0 ? Answer::along(sum_, 0.5) : Answer::nothing();
  }
  void remove(std::uint32_t /*worker*/) override {}
  WorkerShare worker(std::uint32_t /*worker*/) const override { return {}; }
  MethodStateView state() const override {
    return {.numbers = {{"held", {static_cast<double>(held_)}}}, .vectors = {{"sum", 0, sum_}}};
  }
  Status restore(MethodState state, std::span<const std::uint64_t> /*lifetime_counts*/) override {
    held_ = static_cast<int>(state.find_numbers("held")->values[0]);
    sum_ = state.find_vector("sum")->values;
    return {};
  }

 private:
  int held_ = 0;
  Values sum_;
};

ParameterServer make_sum_of_three() {
  return join_all(ParameterServer::make(
                      {.worker_count = 2},
                      {.method = std::make_unique<SumOfThree>(), .optimizer = make_optimizer({})})
                      .value());
}

TEST(ParameterServer, AMethodMayTakeTimeRefuseAndScale) {
  ParameterServer server = make_sum_of_three();
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = send(server, 0, {1.0f, 2.0f});
    EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
    EXPECT_FALSE(outcome.has_stepped);
    EXPECT_FALSE(outcome.has_diverged);
  }
  EXPECT_EQ(send(server, 1, {-1.0f, 0.0f}).verdict, Verdict::kFiltered);
  EXPECT_EQ(server.worker(1).lifetime_count, 0u);
  EXPECT_TRUE(send(server, 1, {2.0f, 4.0f}).has_stepped);
  EXPECT_EQ(model(server), (Values{-2.0f, -4.0f}));
  EXPECT_EQ(server.accepted_count(), 3u);
  EXPECT_EQ(server.model().version, 1u);
}

TEST(ParameterServer, AnyMethodIsRestored) {
  ParameterServer server = make_sum_of_three();
  for (int i = 0; i < 5; ++i) send(server, 0, {1.0f, 2.0f});
  ParameterServer restored = make_sum_of_three();
  ASSERT_TRUE(restored.restore(copy(server.state())));
  EXPECT_EQ(send(restored, 0, {3.0f, 3.0f}).has_stepped, true);
  EXPECT_EQ(send(server, 0, {3.0f, 3.0f}).has_stepped, true);
  EXPECT_EQ(model(server), model(restored));
}

// Of weight 3 the rule keeps 1.98: the median row, 0.98 of the next, nothing of the far one.
TEST(ParameterServer, KeptSaysWhomTheRuleTrimmed) {
  ParameterServer server = make({.options = {.worker_count = 3}, .rule = "ctma(cwmed, 0.34)"});
  send(server, 0, {1.0f, 0.0f});
  send(server, 1, {1.1f, 0.0f});
  send(server, 2, {900.0f, 0.0f});
  EXPECT_EQ(server.worker(1).kept, 1.0);
  EXPECT_NEAR(server.worker(0).kept, 0.98, 1e-12);
  EXPECT_EQ(server.worker(2).kept, 0.0);
}

TEST(ParameterServer, ImpossibleOptionsAreRefused) {
  EXPECT_FALSE(try_make({.options = {.worker_count = 0}}));
  EXPECT_FALSE(try_make({.weights = CappedWeights{.f = 1, .share = 0.2}}));
  EXPECT_FALSE(try_make({.options = {.worker_count = 99}, .rule = "mda(0.2)"}));
}

// The practice of the paper by hand: gamma 0.5, eta 1, start 0. w = -1, x = -0.5; then w = -2,
// x = -1.25.
TEST(ParameterServer, TheModelIsTheAverageOfTheIterates) {
  ParameterServer server = make({.gamma = 0.5, .start = {0.0f}});
  send(server, 0, {1.0f});
  EXPECT_EQ(model(server), Values{-0.5f});
  send(server, 0, {1.0f});
  EXPECT_EQ(model(server), Values{-1.25f});
}

}  // namespace
}  // namespace ballast::server
