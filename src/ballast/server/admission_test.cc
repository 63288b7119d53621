#include "ballast/server/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/robust/registry.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/state.h"
#include "ballast/server/table_method.h"

namespace ballast::server {
namespace {

using Values = std::vector<float>;
using std::chrono::seconds;

struct Setting {
  std::size_t worker_count = 4;
  WeightPolicy weights = CappedWeights{.f = 1, .share = 0.34};  // quorum 3
  LeadLimit lead = {};
  Instant silence_max = Instant::zero();
};

ServerParts make_parts(const Setting& setting) {
  auto method = make_table_method(
      {.worker_count = setting.worker_count, .dim = 2, .weights = setting.weights},
      robust::parse_rule("cwmed").value(), kernels::make_reference_backend());
  return {.method = std::move(method).value(),
          .optimizer = optim::make_sgd_server<float>({.eta = 0.1}, Values{0.0f, 0.0f}).value()};
}

Result<ParameterServer> try_make(const Setting& setting, std::vector<std::string> names) {
  LeadLimit lead = setting.lead;
  if (const auto* capped = std::get_if<CappedWeights>(&setting.weights)) lead.f = capped->f;
  return ParameterServer::make({.worker_count = setting.worker_count,
                                .admission = {.incarnation = 7,
                                              .names = std::move(names),
                                              .lead = lead,
                                              .waits_for_use = true,
                                              .silence_max = setting.silence_max}},
                               make_parts(setting));
}

ParameterServer make(const Setting& setting = {}) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < setting.worker_count; ++i) names.push_back("w" + std::to_string(i));
  return try_make(setting, names).value();
}

double figure(const ParameterServer& server, const std::string& name) {
  for (const NamedNumber& number : server.method().figures()) {
    if (number.name == name) return number.value;
  }
  ADD_FAILURE() << "no figure " << name;
  return 0.0;
}

// The workers as they behave on a good network: each keeps the ticket it was given last.
class Crowd {
 public:
  explicit Crowd(const Setting& setting = {})
      : server(make(setting)), tickets(setting.worker_count) {}

  bool join(std::uint32_t worker, Memory memory = Memory::kFresh, Instant now = {}) {
    tickets[worker].reset();
    return keep(worker, server.on_join(worker, memory, now));
  }
  void join_all() {
    for (std::uint32_t i = 0; i < tickets.size(); ++i) join(i);
  }
  Verdict send(std::uint32_t worker, Values values = {1.0f, -1.0f}, Instant now = {}) {
    const auto ticket = std::exchange(tickets[worker], std::nullopt).value();
    return send(worker, ticket, values, now);
  }
  Verdict send(std::uint32_t worker, const wire::Ticket& ticket, const Values& values,
               Instant now = {}) {
    Judgement judgement =
        server.on_update({.worker = worker, .ticket = ticket, .values = values}, now);
    keep(worker, std::move(judgement.next));
    return judgement.outcome.verdict;
  }
  std::vector<std::uint32_t> release() {
    std::vector<std::uint32_t> released;
    for (auto& assignment : server.release({})) {
      released.push_back(assignment.ticket.worker);
      keep(assignment.ticket.worker, std::move(assignment));
    }
    return released;
  }
  std::uint64_t count(std::uint32_t worker) const { return server.worker(worker).count; }

  ParameterServer server;
  std::vector<std::optional<wire::Ticket>> tickets;

 private:
  bool keep(std::uint32_t worker, std::optional<Assignment> assignment) {
    if (assignment) tickets[worker] = assignment->ticket;
    return assignment.has_value();
  }
};

using Workers = std::vector<std::uint32_t>;

TEST(Admission, BeforeTheBarrierEachWorkerGetsOneTicket) {
  Crowd crowd;
  crowd.join_all();
  EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
  EXPECT_EQ(crowd.send(1), Verdict::kAccepted);
  EXPECT_TRUE(crowd.server.is_held(0));
  EXPECT_TRUE(crowd.server.is_held(1));
  EXPECT_EQ(crowd.release(), Workers{});
  EXPECT_NE(crowd.server.pause_reason().value().find("2 workers have sent"), std::string::npos);
  EXPECT_EQ(crowd.server.model().version, 0u);

  EXPECT_EQ(crowd.send(2), Verdict::kAccepted);
  EXPECT_EQ(crowd.server.model().version, 1u);
  EXPECT_FALSE(crowd.server.pause_reason());
  EXPECT_EQ(crowd.release(), (Workers{0, 1}));
}

// Counts 1 1 1 0: with f = 1 the pace is 1, so nobody passes 2 * 1 + 2 = 4.
TEST(Admission, AFastWorkerIsHeldAtTheLeadLimitAndReleasedByTheOthers) {
  Crowd crowd;
  crowd.join_all();
  for (std::uint32_t i = 0; i < 3; ++i) crowd.send(i);
  crowd.release();
  while (crowd.tickets[0]) crowd.send(0);
  EXPECT_EQ(crowd.count(0), 4u);
  EXPECT_TRUE(crowd.server.is_held(0));
  EXPECT_EQ(crowd.release(), Workers{});

  crowd.send(1);
  EXPECT_EQ(crowd.release(), Workers{0});
  while (crowd.tickets[0]) crowd.send(0);
  EXPECT_EQ(crowd.count(0), 6u);
}

TEST(Admission, WithoutAnFNobodyIsHeld) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
  EXPECT_EQ(crowd.count(0), 50u);
}

TEST(Admission, ATicketCountsOnce) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  const wire::Ticket used = crowd.tickets[0].value();
  crowd.send(0);
  EXPECT_EQ(crowd.send(0, used, {1.0f, 1.0f}), Verdict::kReplayed);
  EXPECT_EQ(crowd.count(0), 1u);
  EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
}

TEST(Admission, TicketsOfOthersOfOldLivesAndOfOldJoinsAreRefused) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  const wire::Ticket own = crowd.tickets[0].value();
  wire::Ticket foreign = crowd.tickets[1].value();
  EXPECT_EQ(crowd.send(0, foreign, {1.0f, 1.0f}), Verdict::kUnasked);
  EXPECT_EQ(crowd.send(0, own, {1.0f, 1.0f}), Verdict::kUnasked);  // replaced by the refusal
  wire::Ticket old_life = crowd.tickets[0].value();
  --old_life.incarnation;
  EXPECT_EQ(crowd.send(0, old_life, {1.0f, 1.0f}), Verdict::kUnasked);
  EXPECT_EQ(crowd.server.accepted_count(), 0u);
  EXPECT_EQ(crowd.server.worker(0).verdicts[std::size_t(Verdict::kUnasked)], 3u);
  EXPECT_EQ(crowd.send(1), Verdict::kAccepted);
}

TEST(Admission, ARefusedUpdateChangesNothingAndMayBeTriedAgain) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  EXPECT_EQ(crowd.send(0, {std::nanf(""), 0.0f}), Verdict::kNotFinite);
  EXPECT_EQ(crowd.send(0, {1.0f}), Verdict::kWrongShape);
  EXPECT_EQ(crowd.count(0), 0u);
  EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
}

TEST(Admission, TheAssignmentSaysWhatWasAcceptedBefore) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  const std::uint64_t sequence = crowd.tickets[0].value().sequence;
  crowd.send(0);
  const auto again = crowd.server.on_join(0, Memory::kKept, {}).value();
  EXPECT_EQ(again.count, 1u);
  EXPECT_EQ(again.accepted_sequence, sequence);
  EXPECT_EQ(again.model.version, 1u);
  EXPECT_EQ(again.ticket.incarnation, 7u);
}

TEST(Admission, AWorkerThatLostItsMemoryStartsFromZero) {
  Crowd crowd({.weights = CountWeights{}});
  crowd.join_all();
  crowd.send(0);
  crowd.join(0, Memory::kKept);
  EXPECT_EQ(crowd.count(0), 1u);
  crowd.join(0, Memory::kFresh);
  EXPECT_EQ(crowd.count(0), 0u);
  EXPECT_TRUE(crowd.server.row(0).empty());
  EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
}

// Below the quorum one worker alone must not use up the run, however often it joins anew.
TEST(Admission, JoiningAnewDoesNotPassTheStartBarrier) {
  Crowd crowd;
  std::uint64_t accepted = 0;
  for (int i = 0; i < 100; ++i) {
    if (crowd.join(0)) accepted += crowd.send(0) == Verdict::kAccepted;
  }
  EXPECT_EQ(accepted, 2u);  // the slack of the lead limit
  EXPECT_TRUE(crowd.server.is_held(0));
  EXPECT_EQ(crowd.server.accepted_count(), 2u);
  crowd.join(1);
  crowd.join(2);
  EXPECT_EQ(crowd.send(1), Verdict::kAccepted);
  EXPECT_EQ(crowd.send(2), Verdict::kAccepted);
  EXPECT_FALSE(crowd.server.method().is_ready());  // worker 0 gave its row up
  crowd.join(3);
  EXPECT_EQ(crowd.send(3), Verdict::kAccepted);
  EXPECT_TRUE(crowd.server.method().is_ready());
}

TEST(Admission, JoiningAnewDoesNotPassTheLeadLimit) {
  Crowd crowd;
  crowd.join_all();
  for (std::uint32_t i = 0; i < 4; ++i) crowd.send(i);
  crowd.release();
  std::uint64_t accepted = 1;
  for (int i = 0; i < 100; ++i) {
    if (crowd.join(0)) accepted += crowd.send(0) == Verdict::kAccepted;
  }
  EXPECT_EQ(accepted, 4u);  // 2 * 1 + 2
  crowd.send(1);
  for (int i = 0; i < 100; ++i) {
    if (crowd.join(0)) accepted += crowd.send(0) == Verdict::kAccepted;
  }
  EXPECT_EQ(accepted, 6u);  // 2 * 2 + 2
}

TEST(Admission, AServerIsRestoredAfterWorkersLeftWereEvictedAndCameBack) {
  Crowd crowd({.silence_max = seconds(10)});
  crowd.join_all();
  for (std::uint32_t i = 0; i < 4; ++i) crowd.send(i, {1.0f, 1.0f}, seconds(1));
  crowd.release();
  crowd.server.on_leave(1);
  crowd.join(2, Memory::kFresh, seconds(2));
  EXPECT_EQ(crowd.server.evict_silent(seconds(20)), (Workers{0, 2, 3}));
  crowd.join(3, Memory::kFresh, seconds(21));
  crowd.send(3, {1.0f, 1.0f}, seconds(21));
  EXPECT_EQ(crowd.count(3), 1u);
  EXPECT_EQ(crowd.server.worker(3).lifetime_count, 2u);

  auto restored = ParameterServer::make(crowd.server.options(), make_parts({}));
  const Status status = restored->restore(copy(crowd.server.state()));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(restored->accepted_count(), 5u);
  EXPECT_EQ(figure(*restored, "rows"), 1.0);
}

TEST(Admission, SilentWorkersAreEvictedHeldOnesAreNot) {
  Crowd crowd({.silence_max = seconds(10)});
  crowd.join_all();
  for (std::uint32_t i = 0; i < 3; ++i) crowd.send(i, {1.0f, 1.0f}, seconds(5));
  crowd.server.on_disconnect(1, seconds(6));
  EXPECT_TRUE(crowd.server.is_held(0));
  EXPECT_EQ(crowd.server.evict_silent(seconds(10)), Workers{});
  // Worker 3 never sent, worker 1 is gone, worker 2 got its next ticket at 5.
  EXPECT_EQ(crowd.server.evict_silent(seconds(17)), (Workers{1, 2, 3}));
  EXPECT_EQ(crowd.server.evict_silent(seconds(99)), Workers{});
  EXPECT_EQ(crowd.count(1), 0u);
  EXPECT_TRUE(crowd.server.pause_reason());
  EXPECT_EQ(crowd.server.eviction_count(), 3u);

  EXPECT_TRUE(crowd.join(1, Memory::kKept, seconds(20)));
  EXPECT_EQ(crowd.send(1), Verdict::kAccepted);
}

// To save a checkpoint between verdict and hand-over may take a while.
TEST(Admission, WorkersAreWaitedForFromWhenTheyAreHandedTheirTicket) {
  Crowd crowd({.silence_max = seconds(10)});
  crowd.join_all();
  for (std::uint32_t i = 0; i < 3; ++i) crowd.send(i, {1.0f, 1.0f}, seconds(5));
  crowd.server.on_given(2, seconds(7));
  EXPECT_EQ(crowd.server.evict_silent(seconds(16)), Workers{3});  // 0 and 1 are held
  EXPECT_EQ(crowd.server.evict_silent(seconds(17)), Workers{});
  EXPECT_EQ(crowd.server.evict_silent(seconds(18)), Workers{2});
}

TEST(Admission, BelowTheQuorumTheModelRestsUntilOthersJoin) {
  Crowd crowd;
  crowd.join_all();
  for (std::uint32_t i = 0; i < 3; ++i) crowd.send(i);
  crowd.release();
  const std::uint64_t version = crowd.server.model().version;
  crowd.server.on_leave(2);
  EXPECT_TRUE(crowd.server.pause_reason());
  EXPECT_EQ(crowd.send(0), Verdict::kAccepted);
  EXPECT_EQ(crowd.server.model().version, version);
  EXPECT_TRUE(crowd.server.is_held(0));
  EXPECT_EQ(crowd.send(3), Verdict::kAccepted);
  EXPECT_EQ(crowd.server.model().version, version + 1);
  EXPECT_EQ(crowd.release(), Workers{0});
}

// One racer that sends whenever it may, honest workers at random, members that come and go: the
// share holds at every step (the table checks it itself) and the racer cannot stop the rest.
TEST(Admission, AFloodNeverHoldsMoreThanTheShareNorStopsTheOthers) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Crowd crowd({.worker_count = 7, .weights = CappedWeights{.f = 1, .share = 0.25}});
    crowd.join_all();
    for (int round = 0; round < 2000; ++round) {
      while (crowd.tickets[0]) crowd.send(0);
      const auto worker = static_cast<std::uint32_t>(1 + rng.below(6));
      const auto what = rng.below(40);
      if (what == 0) {
        crowd.server.on_leave(worker);
        crowd.tickets[worker].reset();
      }
      if (what == 1) crowd.join(worker, Memory::kKept);
      if (crowd.tickets[worker]) {
        EXPECT_EQ(crowd.send(worker), Verdict::kAccepted);
      }
      crowd.release();
      EXPECT_LE(figure(crowd.server, "heaviest_share"), 0.25 + 1e-12);
    }
    EXPECT_GT(crowd.server.model().version, 500u);
  }
}

TEST(Admission, ImpossibleOptionsAreRefused) {
  EXPECT_TRUE(try_make({}, {"a", "b", "c", "d"}));
  EXPECT_FALSE(try_make({}, {"a", "b", "c"}));
  EXPECT_FALSE(try_make({}, {"a", "b", "c", ""}));
  EXPECT_FALSE(try_make({}, {"a", "b", "c", std::string(65, 'x')}));
  const auto twice = try_make({}, {"a", "b", "c", "b"});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("b is enrolled twice"), std::string::npos);
  EXPECT_FALSE(try_make({.lead = {.kappa = 0.5}}, {"a", "b", "c", "d"}));
  EXPECT_EQ(make().find("w2"), 2u);
  EXPECT_EQ(make().find("w9"), std::nullopt);
}

TEST(Admission, AFreePlaceIsGivenOnceAndItsWorkerIsLikeTheOthers) {
  auto admission = Admission::make({.names = {"a", "b"}, .free_places = 1}, 3, {.dim = 2}).value();
  EXPECT_FALSE(Admission::make({.names = {"a", "b"}, .free_places = 2}, 3, {.dim = 2}));
  EXPECT_EQ(admission.find("c"), std::nullopt);
  EXPECT_FALSE(admission.enrol("b")) << "is enrolled";
  EXPECT_FALSE(admission.enrol("")) << "is no name";
  EXPECT_EQ(admission.enrol("c").value(), 2u);
  EXPECT_EQ(admission.find("c"), 2u);
  const auto ticket = admission.issue(2, 0, true, Instant(1));
  ASSERT_TRUE(ticket);
  const std::vector<float> values = {1.0f, 2.0f};
  EXPECT_EQ(admission.judge({.worker = 2, .ticket = *ticket, .values = values}, 0),
            Verdict::kAccepted);
  const auto full = admission.enrol("d");
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("all 3 places are taken"), std::string::npos);
}

// A worker that nobody has enrolled has no ticket, whatever it says.
TEST(Admission, AFreePlaceTakesNothing) {
  const auto admission = Admission::make({.names = {"a"}, .free_places = 1}, 2, {.dim = 2}).value();
  const std::vector<float> values = {1.0f, 2.0f};
  EXPECT_EQ(admission.judge(
                {.worker = 1, .ticket = {.incarnation = 1, .worker = 1}, .values = values}, 0),
            Verdict::kReplayed);
}

// Its values may lie in memory that only a device can read.
TEST(Admission, ACheckedUpdateIsNotLookedAt) {
  Admission admission = Admission::make({}, 1, {.dim = 2, .statistic_count = 0}).value();
  const auto ticket = admission.issue(0, 0, true, Instant::zero());
  const Values bad = {1.0f, NAN};
  Update update{.worker = 0, .ticket = ticket.value(), .values = bad};
  EXPECT_EQ(admission.judge(update, 0), Verdict::kNotFinite);
  update.is_checked = true;
  EXPECT_EQ(admission.judge(update, 0), Verdict::kAccepted);
  update.values = std::span(bad).first(1);
  EXPECT_EQ(admission.judge(update, 0), Verdict::kWrongShape);
}

}  // namespace
}  // namespace ballast::server
