#include "ballast/server/parameter_server.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/robust/registry.h"

namespace ballast::server {
namespace {

using Values = std::vector<float>;

struct Setting {
  ServerOptions options{.worker_count = 3};
  std::string rule = "mean";
  double eta = 1.0;
  std::optional<double> gamma = std::nullopt;  // given: the server of mu^2-SGD
  Values start = {0.0f, 0.0f};
};

Result<ParameterServer> try_make(const Setting& setting) {
  const optim::StepOptions step{.eta = setting.eta};
  auto optimizer = setting.gamma ? optim::make_mu2_server<float>(
                                       step, optim::ConstantAverage{*setting.gamma}, setting.start)
                                 : optim::make_sgd_server<float>(step, setting.start);
  return ParameterServer::make(setting.options, {.rule = robust::parse_rule(setting.rule).value(),
                                                 .backend = kernels::make_reference_backend(),
                                                 .optimizer = std::move(optimizer).value()});
}

ParameterServer make(const Setting& setting = {}) {
  ParameterServer server = try_make(setting).value();
  for (std::uint32_t i = 0; i < setting.options.worker_count; ++i) server.on_join(i).value();
  return server;
}

// The update an honest transport would deliver: the next sequence number, the version given last.
Outcome send(ParameterServer& server, std::uint32_t worker, const Values& values,
             const Values& statistics = {}) {
  const WorkerRecord& record = server.worker(worker);
  return server.on_update({.worker = worker,
                           .sequence = record.sequence + 1,
                           .version = record.given.value(),
                           .values = values,
                           .statistics = statistics});
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
  ParameterServer server = make({.options = {.worker_count = 3, .weights = UniformWeights{}}});
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
    const Outcome outcome = send(server, 1, {3.0f, 3.0f});
    const bool is_newest = reply == Reply::kNewest;
    EXPECT_EQ(outcome.reply.version, is_newest ? 2u : 1u);
    EXPECT_EQ(*outcome.reply.values, is_newest ? (Values{-3.0f, -3.0f}) : (Values{-1.0f, -1.0f}));
    EXPECT_EQ(server.worker(1).given, outcome.reply.version);
  }
}

TEST(ParameterServer, StalenessCountsTheVersionsSinceTheModelWasGiven) {
  ParameterServer server = make();
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 0u);
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 0u);
  EXPECT_EQ(send(server, 1, {1.0f, 1.0f}).staleness, 2u);
  EXPECT_EQ(send(server, 0, {1.0f, 1.0f}).staleness, 1u);
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
  ParameterServer server =
      make({.options = {.worker_count = 3, .statistic_count = 1, .staleness_max = 1}});
  const Values good = {1.0f, 1.0f}, one = {1.0f};
  send(server, 0, good, one);
  send(server, 0, good, one);
  const std::uint64_t given = server.worker(0).given.value();
  const struct {
    Update update;
    Verdict verdict;
  } cases[] = {
      {{.worker = 3, .sequence = 1, .values = good, .statistics = one}, Verdict::kUnknownWorker},
      {{.worker = 0, .sequence = 3, .version = given, .values = one, .statistics = one},
       Verdict::kWrongShape},
      {{.worker = 0, .sequence = 3, .version = given, .values = good}, Verdict::kWrongShape},
      {{.worker = 0, .sequence = 2, .version = given, .values = good, .statistics = one},
       Verdict::kReplayed},
      {{.worker = 0, .sequence = 0, .version = given, .values = good, .statistics = one},
       Verdict::kReplayed},
      {{.worker = 0, .sequence = 3, .version = 1, .values = good, .statistics = one},
       Verdict::kUnasked},
      {{.worker = 0, .sequence = 3, .version = 99, .values = good, .statistics = one},
       Verdict::kUnasked},
      {{.worker = 1, .sequence = 1, .version = 0, .values = good, .statistics = one},
       Verdict::kStale},
  };
  const Values model_before = model(server);
  for (const auto& [update, verdict] : cases) {
    SCOPED_TRACE(name(verdict));
    const Outcome outcome = server.on_update(update);
    EXPECT_EQ(outcome.verdict, verdict);
    EXPECT_FALSE(outcome.has_stepped);
    EXPECT_EQ(outcome.reply.values, nullptr);
  }
  EXPECT_EQ(send(server, 0, {1.0f, nan}, one).verdict, Verdict::kNotFinite);
  EXPECT_EQ(send(server, 0, {-infinity, 1.0f}, one).verdict, Verdict::kNotFinite);
  EXPECT_EQ(send(server, 0, good, {nan}).verdict, Verdict::kNotFinite);
  EXPECT_EQ(model(server), model_before);
  EXPECT_EQ(server.model().version, 2u);
  EXPECT_EQ(server.accepted_count(), 2u);
  EXPECT_EQ(server.unknown_count(), 1u);
  EXPECT_EQ(server.worker(0).count, 2u);
  EXPECT_EQ(server.worker(0).given, given);
  EXPECT_EQ(server.worker(0).verdicts[static_cast<std::size_t>(Verdict::kNotFinite)], 3u);
  EXPECT_EQ(server.worker(1).verdicts[static_cast<std::size_t>(Verdict::kStale)], 1u);
  EXPECT_EQ(send(server, 0, good, one).verdict, Verdict::kAccepted);
}

TEST(ParameterServer, AWorkerThatJoinsAgainMustComputeOnTheNewModel) {
  ParameterServer server = make();
  send(server, 0, {1.0f, 1.0f});
  EXPECT_EQ(server.on_join(1).value().version, 1u);
  const Values good = {1.0f, 1.0f};
  EXPECT_EQ(server.on_update({.worker = 1, .sequence = 1, .version = 0, .values = good}).verdict,
            Verdict::kUnasked);
  EXPECT_EQ(server.on_update({.worker = 1, .sequence = 1, .version = 1, .values = good}).verdict,
            Verdict::kAccepted);
  EXPECT_FALSE(server.on_join(3));
}

TEST(ParameterServer, BelowTheQuorumRowsAreCollectedWithoutAStep) {
  ParameterServer server =
      make({.options = {.worker_count = 3, .weights = CappedWeights{.f = 1, .share = 0.4}}});
  EXPECT_FALSE(send(server, 0, {1.0f, 1.0f}).has_stepped);
  EXPECT_FALSE(send(server, 1, {1.0f, 1.0f}).has_stepped);
  EXPECT_EQ(server.model().version, 0u);
  EXPECT_EQ(server.worker(0).count, 1u);
  EXPECT_TRUE(send(server, 2, {4.0f, 4.0f}).has_stepped);
  EXPECT_EQ(model(server), (Values{-2.0f, -2.0f}));
}

TEST(ParameterServer, NoFloodLiftsTheHeaviestAboveTheShare) {
  ParameterServer server =
      make({.options = {.worker_count = 5, .weights = CappedWeights{.f = 1, .share = 0.25}},
            .eta = 0.1});
  for (std::uint32_t i = 0; i < 5; ++i) send(server, i, {1.0f, 0.0f});
  for (int flood = 0; flood < 100; ++flood) {
    send(server, 4, {-1.0f, 0.0f});
    std::vector<std::uint64_t> weights;
    for (const WorkerRecord& worker : server.workers()) weights.push_back(worker.weight);
    ASSERT_LE(share_of_heaviest(1, weights), 0.25);
  }
  EXPECT_EQ(server.worker(4).count, 101u);
}

TEST(ParameterServer, AStepOutOfTheFiniteNumbersIsNotTaken) {
  ParameterServer server = make({.eta = 1e30});
  const Outcome outcome = send(server, 0, {3e38f, 0.0f});
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_FALSE(outcome.has_stepped);
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
  EXPECT_FALSE(
      try_make({.options = {.worker_count = 3, .weights = CappedWeights{.f = 1, .share = 0.2}}}));
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
