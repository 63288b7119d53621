// The exchange with peers that only write down what they are told: no sockets, real threads.

#include "ballast/transport/exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "ballast/wire/limits.h"
#include "tests/network/test_setting.h"

namespace ballast::transport {
namespace {

using server::Memory;
using server::Verdict;
using std::chrono::milliseconds;

class Notebook final : public Peer {
 public:
  explicit Notebook(std::string certificate = {}) : certificate_(std::move(certificate)) {}
  const std::string& certificate() const noexcept override { return certificate_; }
  void deliver(Delivery delivery) override {
    const std::lock_guard lock(mutex_);
    deliveries_.push_back(std::move(delivery));
    changed_.notify_all();
  }
  void close(Close why) override {
    const std::lock_guard lock(mutex_);
    closed_ = why;
    changed_.notify_all();
  }
  // The next delivery, within two seconds and unless closed before.
  std::optional<Delivery> next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(2),
                      [&] { return !deliveries_.empty() || closed_.has_value(); });
    if (deliveries_.empty()) return std::nullopt;
    Delivery delivery = std::move(deliveries_.front());
    deliveries_.erase(deliveries_.begin());
    return delivery;
  }
  std::optional<Close> closed() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(2), [&] { return closed_.has_value(); });
    return closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Delivery> deliveries_;
  std::optional<Close> closed_;
  const std::string certificate_;
};

using NotebookPointer = std::shared_ptr<Notebook>;

Result<bool> send(Exchange& exchange, std::uint32_t worker, const NotebookPointer& peer,
                  const wire::Ticket& ticket, const Values& values) {
  BALLAST_TRY_STATUS(exchange.begin_update(worker, *peer, wire::Encoding::kFloat32));
  wire::PayloadWriter chunks(values, {}, wire::Encoding::kFloat32);
  bool is_complete = false;
  while (!chunks.is_done()) {
    BALLAST_TRY(is_complete, exchange.take_chunk(worker, peer, ticket, chunks.next()));
  }
  return is_complete;
}

std::uint64_t accepted_count(Exchange& exchange) {
  std::uint64_t count = 0;
  exchange.inspect([&](const server::ParameterServer& core) { count = core.accepted_count(); });
  return count;
}

TEST(Exchange, AWorkerGetsAModelThenAVerdictWithTheNext) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  const auto first = peer->next();
  ASSERT_TRUE(first && first->next);
  EXPECT_EQ(first->verdict, std::nullopt);
  EXPECT_TRUE(send(exchange, 0, peer, first->next->ticket, Values(setting.dim, 1.0f)).value());
  const auto second = peer->next();
  ASSERT_TRUE(second && second->next);
  EXPECT_EQ(second->verdict, Verdict::kAccepted);
  EXPECT_EQ(second->next->model.version, 1u);
  EXPECT_EQ(second->next->count, 1u);
}

TEST(Exchange, AReplacedPeerCannotWriteAnyMore) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto older = std::make_shared<Notebook>(), newer = std::make_shared<Notebook>();
  exchange.join(0, older, Memory::kFresh);
  const auto ticket = older->next().value().next.value().ticket;
  ASSERT_TRUE(exchange.begin_update(0, *older, wire::Encoding::kFloat32));
  exchange.join(0, newer, Memory::kFresh);
  EXPECT_EQ(older->closed(), Close::kReplaced);
  ASSERT_TRUE(newer->next());
  const Values values(setting.dim, 1.0f);
  wire::PayloadWriter chunks(values, {}, wire::Encoding::kFloat32);
  const auto late = exchange.take_chunk(0, older, ticket, chunks.next());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kNotFound);
  exchange.end(0, older, false);
  EXPECT_EQ(accepted_count(exchange), 0u);
}

TEST(Exchange, HalfAnUpdateLeavesTheLiveRowAlone) {
  const TestSetting setting{.dim = 300'000};
  Exchange exchange(make_server(setting), {});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  auto ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 1.0f)));
  ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(exchange.begin_update(0, *peer, wire::Encoding::kFloat32));
  const Values other(setting.dim, 2.0f);
  wire::PayloadWriter chunks(other, {}, wire::Encoding::kFloat32);
  EXPECT_FALSE(exchange.take_chunk(0, peer, ticket, chunks.next()).value());
  exchange.inspect([&](const server::ParameterServer& core) { EXPECT_EQ(core.row(0)[0], 1.0f); });
}

// Values are looked at chunk by chunk; one that is not finite is found wherever it stands, and
// leaves no trace in what is sent after it.
TEST(Exchange, OneValueThatIsNotFiniteIsFoundInAnyChunk) {
  const TestSetting setting{.dim = 600'000};
  Exchange exchange(make_server(setting), {});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  auto ticket = peer->next().value().next.value().ticket;
  const std::size_t chunk = wire::kChunkBytesMax / sizeof(float);
  std::uint64_t accepted = 0;
  for (const std::size_t place : {std::size_t{0}, chunk - 1, chunk, setting.dim - 1}) {
    for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      Values values(setting.dim, 1.0f);
      values[place] = bad;
      ASSERT_TRUE(send(exchange, 0, peer, ticket, values));
      auto told = peer->next();
      ASSERT_TRUE(told && told->next);
      EXPECT_EQ(told->verdict, Verdict::kNotFinite) << "value " << place;

      values[place] = std::numeric_limits<float>::max();
      ASSERT_TRUE(send(exchange, 0, peer, told->next->ticket, values));
      told = peer->next();
      ASSERT_TRUE(told && told->next);
      EXPECT_EQ(told->verdict, Verdict::kAccepted) << "value " << place;
      EXPECT_EQ(accepted_count(exchange), ++accepted);
      ticket = told->next->ticket;
    }
  }
}

TEST(Exchange, TheJournalHearsOfAnUpdateBeforeItsWorker) {
  const TestSetting setting;
  const auto peer = std::make_shared<Notebook>();
  std::atomic<bool> is_journalled = false;
  ExchangeHooks hooks;
  hooks.judged = [&](const server::ParameterServer&, const JudgedUpdate& update) {
    EXPECT_EQ(update.outcome.verdict, Verdict::kAccepted);
    EXPECT_EQ(update.values[0], 3.0f);
    std::this_thread::sleep_for(milliseconds(50));
    is_journalled = true;
    return std::nullopt;
  };
  Exchange exchange(make_server(setting), {.hooks = hooks});
  exchange.join(0, peer, Memory::kFresh);
  const auto ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 3.0f)));
  ASSERT_TRUE(peer->next());
  EXPECT_TRUE(is_journalled);
}

TEST(Exchange, RefusalsOfTheTransportAreTold) {
  std::map<Verdict, std::uint32_t> told;
  ExchangeHooks hooks;
  hooks.refused = [&](std::uint32_t worker, Verdict verdict, std::uint32_t count) {
    EXPECT_EQ(worker, 2u);
    told[verdict] += count;
  };
  Exchange exchange(make_server({}), {.hooks = hooks});
  for (int i = 0; i < 5; ++i) exchange.refuse(2, Verdict::kMalformed);
  exchange.refuse(2, Verdict::kForged);
  EXPECT_EQ(accepted_count(exchange), 0u);
  EXPECT_EQ(told,
            (std::map<Verdict, std::uint32_t>{{Verdict::kMalformed, 5}, {Verdict::kForged, 1}}));
}

TEST(Exchange, WhatTheJournalCouldNotNoteIsNotAcknowledged) {
  const TestSetting setting;
  const auto peer = std::make_shared<Notebook>();
  ExchangeHooks hooks;
  hooks.judged = [](const server::ParameterServer&, const JudgedUpdate&) {
    return Close::kStopping;
  };
  Exchange exchange(make_server(setting), {.hooks = hooks});
  exchange.join(0, peer, Memory::kFresh);
  const auto ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 3.0f)));
  EXPECT_EQ(peer->closed(), Close::kStopping);
  EXPECT_FALSE(peer->next());
}

TEST(Exchange, AWorkerThatComesBackDoesNotLearnWhatTheJournalCouldNotNote) {
  const TestSetting setting;
  const auto peer = std::make_shared<Notebook>(), other = std::make_shared<Notebook>();
  ExchangeHooks hooks;
  hooks.judged = [](const server::ParameterServer&, const JudgedUpdate&) {
    return Close::kStopping;
  };
  Exchange exchange(make_server(setting), {.hooks = hooks});
  exchange.join(0, peer, Memory::kFresh);
  exchange.join(1, other, Memory::kFresh);
  const auto ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(other->next());
  ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 3.0f)));
  EXPECT_EQ(peer->closed(), Close::kStopping);
  EXPECT_EQ(other->closed(), Close::kStopping);
  const auto again = std::make_shared<Notebook>();
  exchange.join(0, again, Memory::kKept);
  EXPECT_EQ(again->closed(), Close::kStopping);
  EXPECT_FALSE(again->next());
  EXPECT_EQ(accepted_count(exchange), 1u);
}

TEST(Exchange, HeldPeersAreSentAwayAfterAWhileAndReleasedByOthers) {
  const TestSetting setting{.weights = server::CappedWeights{.f = 1, .share = 0.34}};
  Exchange exchange(make_server(setting), {.hold_max = milliseconds(500)});
  std::vector<NotebookPointer> peers;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    peers.push_back(std::make_shared<Notebook>());
    exchange.join(worker, peers.back(), Memory::kFresh);
    const auto ticket = peers.back()->next().value().next.value().ticket;
    ASSERT_TRUE(send(exchange, worker, peers.back(), ticket, Values(setting.dim, 1.0f)));
    const auto answer = peers.back()->next();
    EXPECT_EQ(answer.value().verdict, Verdict::kAccepted);
    EXPECT_EQ(answer.value().next.has_value(), worker == 2) << worker;
    if (worker == 0) {
      EXPECT_EQ(peers[0]->closed(), Close::kComeBack);
    }
  }
  ASSERT_TRUE(peers[1]->next().value().next);
}

TEST(Exchange, AWorkerThatIsEnrolledWhileItRunsMayJoin) {
  const TestSetting setting{.free_places = 1};
  const auto number = static_cast<std::uint32_t>(setting.worker_count);
  std::map<std::uint32_t, std::string> certificates;
  Exchange exchange(make_server(setting),
                    {.hooks = {.certificate = [&](auto worker, const auto& certificate) {
                       certificates[worker] = certificate;
                     }}});
  const auto keep = [](const server::ParameterServer&) { return Status{}; };
  EXPECT_EQ(exchange.find("late"), std::nullopt);
  const auto fail = [](const server::ParameterServer&) { return Status(io_error("disk full")); };
  EXPECT_EQ(exchange.enrol("late", fail).error().message, "disk full");
  EXPECT_EQ(exchange.find("late"), std::nullopt) << "what is not kept is not enrolled";
  EXPECT_FALSE(exchange.enrol("w0", keep)) << "is enrolled";

  EXPECT_EQ(exchange.enrol("late", keep).value(), number);

  EXPECT_EQ(exchange.find("late"), number);
  EXPECT_FALSE(exchange.enrol("later", keep)) << "there was one place";
  const auto peer = std::make_shared<Notebook>("its certificate");
  exchange.join(number, peer, Memory::kFresh);
  const auto first = peer->next();
  ASSERT_TRUE(first && first->next);
  EXPECT_TRUE(send(exchange, number, peer, first->next->ticket, Values(setting.dim, 1)).value());
  EXPECT_EQ(peer->next()->verdict, Verdict::kAccepted);
  exchange.stop();
  EXPECT_EQ(certificates[number], "its certificate");
  EXPECT_EQ(exchange.enrol("last", keep).error().code, ErrorCode::kInterrupted);
}

TEST(Exchange, StoppingClosesEveryPeerAndLaterCallsDoNothing) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  ASSERT_TRUE(peer->next());
  exchange.stop();
  EXPECT_EQ(peer->closed(), Close::kStopping);
  bool was_called = false;
  exchange.inspect([&](const server::ParameterServer&) { was_called = true; });
  EXPECT_FALSE(was_called);
  exchange.join(1, std::make_shared<Notebook>(), Memory::kFresh);
}

TEST(Exchange, TwoThreadsMayStopIt) {
  Exchange exchange(make_server({}), {});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  ASSERT_TRUE(peer->next());
  std::thread other([&] { exchange.stop(Close::kFinished); });
  exchange.stop(Close::kFinished);
  EXPECT_EQ(peer->closed(), Close::kFinished);
  other.join();
}

// Keeps the state thread busy until it is let go, as a long step or checkpoint would.
class Stall {
 public:
  explicit Stall(Exchange& exchange)
      : thread_([&] {
          exchange.inspect([this](const server::ParameterServer&) {
            begun_.set_value();
            end_.get_future().wait();
          });
        }) {
    begun_.get_future().wait();
  }
  ~Stall() {
    end_.set_value();
    thread_.join();
  }
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

 private:
  std::promise<void> begun_, end_;
  std::thread thread_;
};

TEST(Exchange, ARevokedWorkerLosesItsRowAndItsStream) {
  std::vector<MemberEvent> events;
  ExchangeHooks hooks;
  hooks.member = [&](std::uint32_t, MemberEvent event) { events.push_back(event); };
  const TestSetting setting;
  Exchange exchange(make_server(setting), {.hooks = hooks});
  const auto peer = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  const auto ticket = peer->next().value().next.value().ticket;
  ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 1.0f)));
  ASSERT_TRUE(peer->next());
  exchange.revoke(0);
  EXPECT_EQ(peer->closed(), Close::kRevoked);
  exchange.end(0, peer, false);
  exchange.inspect([&](const server::ParameterServer& core) {
    EXPECT_EQ(core.worker(0).count, 0u);
    EXPECT_FALSE(core.has_ticket(0));
  });
  exchange.stop();
  EXPECT_EQ(events, (std::vector{MemberEvent::kJoined, MemberEvent::kRevoked}));
}

TEST(Exchange, AnUpdateThatWaitsWhenItsWorkerIsRevokedDoesNotCount) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto peer = std::make_shared<Notebook>(), again = std::make_shared<Notebook>();
  exchange.join(0, peer, Memory::kFresh);
  const auto ticket = peer->next().value().next.value().ticket;
  {
    const Stall stall(exchange);
    ASSERT_TRUE(send(exchange, 0, peer, ticket, Values(setting.dim, 1.0f)));
    exchange.revoke(0);
    exchange.join(0, again, Memory::kFresh);  // under a new certificate
  }
  EXPECT_EQ(peer->closed(), Close::kRevoked);
  EXPECT_EQ(accepted_count(exchange), 0u);
  const auto given = again->next();
  ASSERT_TRUE(given && given->next);
  EXPECT_EQ(given->next->count, 0u);
}

TEST(Exchange, AnUpdateThatWaitsWhenItsStreamIsReplacedCountsOnce) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto older = std::make_shared<Notebook>(), newer = std::make_shared<Notebook>();
  exchange.join(0, older, Memory::kFresh);
  const auto ticket = older->next().value().next.value().ticket;
  {
    const Stall stall(exchange);
    ASSERT_TRUE(send(exchange, 0, older, ticket, Values(setting.dim, 1.0f)));
    exchange.join(0, newer, Memory::kKept);
    exchange.end(0, older, false);
  }
  const auto given = newer->next();
  ASSERT_TRUE(given && given->next);
  EXPECT_EQ(given->next->count, 1u);
  EXPECT_EQ(given->next->accepted_sequence, ticket.sequence);
  EXPECT_EQ(accepted_count(exchange), 1u);
}

// A checkpoint or a step may take longer than a worker may be silent.
TEST(Exchange, NobodyIsEvictedForAStallOfTheServer) {
  TestSetting setting;
  setting.silence_max = kSlowness * milliseconds(1'500);
  Exchange exchange(make_server(setting), {});
  const auto early = std::make_shared<Notebook>(), late = std::make_shared<Notebook>();
  exchange.join(0, early, Memory::kFresh);
  exchange.join(1, late, Memory::kFresh);
  const auto first = early->next().value().next.value().ticket;
  const auto second = late->next().value().next.value().ticket;
  {
    const Stall stall(exchange);
    ASSERT_TRUE(send(exchange, 0, early, first, Values(setting.dim, 1.0f)));
    std::this_thread::sleep_for(setting.silence_max + milliseconds(500));
  }
  EXPECT_EQ(early->next().value().verdict, Verdict::kAccepted);
  ASSERT_TRUE(send(exchange, 1, late, second, Values(setting.dim, 1.0f)));
  EXPECT_EQ(late->next().value().verdict, Verdict::kAccepted);
  EXPECT_EQ(accepted_count(exchange), 2u);
  // Silence of their own is.
  for (int i = 0; i < 3 && !early->closed(); ++i) continue;
  EXPECT_EQ(early->closed(), Close::kEvicted);
}

TEST(Exchange, StreamsThatComeAndGoDuringAStallLeaveNothingBehind) {
  const TestSetting setting;
  Exchange exchange(make_server(setting), {});
  const auto member = std::make_shared<Notebook>();
  exchange.join(0, member, Memory::kFresh);
  ASSERT_TRUE(member->next());
  std::vector<std::weak_ptr<Notebook>> gone;
  {
    const Stall stall(exchange);
    exchange.end(0, member, false);
    for (int i = 0; i < 1000; ++i) {
      // Displaced by the second, which ends before it was looked at.
      const auto first = std::make_shared<Notebook>(), second = std::make_shared<Notebook>();
      exchange.join(0, first, Memory::kKept);
      exchange.join(0, second, Memory::kKept);
      exchange.end(0, first, false);
      exchange.end(0, second, false);
      gone.insert(gone.end(), {first, second});
    }
    const auto is_kept = [](const auto& peer) { return !peer.expired(); };
    EXPECT_EQ(std::ranges::count_if(gone, is_kept), 0);
  }
  EXPECT_EQ(accepted_count(exchange), 0u);
}

// Many threads at once, streams that are replaced in the middle of everything: no update is counted
// that was not given a ticket, none twice.
TEST(Exchange, ManyStreamsOfFewWorkersKeepTheCountsRight) {
  const TestSetting setting{.dim = 1000, .worker_count = 3};
  std::atomic<std::uint64_t> judged_count = 0;
  ExchangeHooks hooks;
  hooks.judged = [&](const server::ParameterServer&, const JudgedUpdate& update) {
    judged_count += update.outcome.verdict == Verdict::kAccepted ? 1 : 0;
    return std::nullopt;
  };
  Exchange exchange(make_server(setting), {.hooks = hooks});
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, worker = i % 3] {
      for (int round = 0; round < 50; ++round) {
        const auto peer = std::make_shared<Notebook>();
        exchange.join(worker, peer, Memory::kKept);
        const auto given = peer->next();
        if (given && given->next) {
          (void)send(exchange, worker, peer, given->next->ticket, Values(setting.dim, 1.0f));
        }
        exchange.end(worker, peer, false);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted_count(exchange), judged_count);
  EXPECT_GT(judged_count, 0u);
}

}  // namespace
}  // namespace ballast::transport
