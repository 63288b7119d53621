#include "ballast/sim/checkers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ballast/server/state.h"
#include "ballast/sim/test_cluster.h"

namespace ballast::sim {
namespace {

struct Play {
  TestSetting setting = {};
  CheckerOptions checked = {.workers = {.honest = 3, .byzantine = 2}};
  std::vector<std::uint32_t> senders = {0};
  std::function<void(ArrivalRecord&, server::Outcome&)> tamper = {};  // with the last record
};

server::Judgement send(server::ParameterServer& server, std::uint32_t worker) {
  const std::vector<float> values = {1.0f, 1.0f, 1.0f};
  const auto ticket = server.state().senders[worker].ticket.value();
  return server.on_update({.worker = worker, .ticket = ticket, .values = values});
}

// What the checker says to a server that the senders update in turn, or nothing.
std::string complaint(const Play& play) {
  TestCluster cluster(play.setting);
  server::ParameterServer& server = cluster.server();
  InvariantChecker checker(play.checked, server);
  for (std::uint32_t i = 0; i < 5; ++i) server.on_join(i);
  for (std::size_t t = 1; t <= play.senders.size(); ++t) {
    const std::uint32_t worker = play.senders[t - 1];
    const std::uint64_t version = server.worker(worker).given.value();
    server::Judgement judgement = send(server, worker);
    server::Outcome& outcome = judgement.outcome;
    ArrivalRecord record{.t = t,
                         .worker = worker,
                         .is_byzantine = worker >= 3,
                         .at = std::chrono::seconds(1),
                         .version = version,
                         .reply = judgement.next->model,
                         .outcome = outcome};
    if (play.tamper && t == play.senders.size()) play.tamper(record, outcome);
    const auto next = checker.on_arrival(record, server);
    if (!next) return next.error().message;
  }
  return "";
}

TEST(InvariantChecker, AcceptsTheTruth) {
  EXPECT_EQ(complaint({.senders = {0, 3, 3, 1, 0, 4, 2}}), "");
}

TEST(InvariantChecker, FindsWhatIsWrongWithAnArrival) {
  const std::string place = "invariant broken at arrival 2: ";
  const std::vector<std::uint32_t> senders = {0, 1};
  EXPECT_EQ(complaint({.senders = senders, .tamper = [](auto& record, auto&) { record.t = 7; }}),
            place + "it is recorded as 7");
  EXPECT_EQ(
      complaint({.senders = senders, .tamper = [](auto& record, auto&) { record.worker = 5; }}),
      place + "no worker 5");
  EXPECT_EQ(complaint({.senders = senders,
                       .tamper = [](auto& record, auto&) { record.is_byzantine = true; }}),
            place + "worker 1 is recorded in the wrong group");
  EXPECT_EQ(complaint({.senders = senders,
                       .tamper = [](auto& record, auto&) { record.at = Instant::zero(); }}),
            place + "time runs backwards");
}

TEST(InvariantChecker, FindsTooManyByzantineArrivals) {
  CheckerOptions checked{.workers = {.honest = 3, .byzantine = 2},
                         .share = Share::make(0.4).value()};
  EXPECT_EQ(complaint({.checked = checked, .senders = {0, 1, 3, 2, 4}}), "");
  EXPECT_EQ(complaint({.checked = checked, .senders = {0, 1, 3, 4}}),
            "invariant broken at arrival 4: 2 Byzantine arrivals, not at most 1");
}

TEST(InvariantChecker, FindsWrongVersionsStalenessAndReplies) {
  const std::string place = "invariant broken at arrival 2: ";
  const std::vector<std::uint32_t> senders = {0, 1};
  EXPECT_EQ(complaint({.senders = senders,
                       .tamper = [](auto&, auto& outcome) { outcome.has_stepped = false; }}),
            place + "version 2 after 1 steps");
  EXPECT_EQ(
      complaint({.senders = senders, .tamper = [](auto& record, auto&) { record.version = 1; }}),
      place + "worker 1 was given version 0 and names 1");
  EXPECT_EQ(complaint({.senders = senders,
                       .tamper = [](auto&, auto& outcome) { outcome.staleness = 0; }}),
            place + "staleness 0, not 1");
  EXPECT_EQ(complaint({.senders = senders,
                       .tamper = [](auto& record, auto&) { record.reply.version = 1; }}),
            place + "worker 1 was given version 1, not 2");
  EXPECT_EQ(complaint({.setting = {.reply = server::Reply::kPaper}, .senders = senders}),
            "invariant broken at arrival 1: worker 0 was given version 0, not 1");
}

TEST(InvariantChecker, FindsRefusedUpdatesThatCountOrStep) {
  const auto refuse = [](auto&, auto& outcome) {
    outcome = {.verdict = server::Verdict::kStale, .has_stepped = true};
  };
  EXPECT_EQ(complaint({.tamper = refuse}),
            "invariant broken at arrival 1: a refused update moved the model");
  // Below the quorum an update is accepted without a step, so that only its count betrays it.
  const server::WeightPolicy capped = server::CappedWeights{.f = 1, .share = 0.3};
  const auto forget = [](auto&, auto& outcome) { outcome = {.verdict = server::Verdict::kStale}; };
  EXPECT_EQ(complaint({.setting = {.weights = capped},
                       .checked = {.workers = {.honest = 3, .byzantine = 2}, .weights = capped},
                       .tamper = forget}),
            "invariant broken at arrival 1: worker 0 has count 1 after 0 accepted updates");
}

TEST(InvariantChecker, FindsWeightsOfAnotherPolicy) {
  const Population workers{.honest = 3, .byzantine = 2};
  EXPECT_EQ(complaint({.setting = {.weights = server::UniformWeights{}}, .senders = {0, 0}}),
            "invariant broken at arrival 2: worker 0 with count 2 weighs 1024 units");
  EXPECT_EQ(complaint({.setting = {.weights = server::UniformWeights{}},
                       .checked = {.workers = workers, .weights = server::UniformWeights{}},
                       .senders = {0, 0}}),
            "");
  EXPECT_EQ(complaint({.checked = {.workers = workers,
                                   .weights = server::CappedWeights{.f = 1, .share = 0.4}},
                       .senders = {0, 1}}),
            "invariant broken at arrival 1: the 1 heaviest hold 1, above 0.4");
}

}  // namespace
}  // namespace ballast::sim
