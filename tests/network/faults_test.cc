// Training over a network that drops, delays and duplicates messages, with workers that die and
// come back: the run goes on, and no update counts twice.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "ballast/base/rng.h"
#include "tests/network/faulty_relay.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using server::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 20'240'611;
constexpr seconds kTimeMax{120};  // far above what is needed, for machines that do other things

// The gradient of |x - (1, 2, ..., 8, 1, 2, ...)|^2 / 2.
Values slope(std::span<const float> model) {
  Values gradient(model.begin(), model.end());
  for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] -= static_cast<float>(j % 8 + 1);
  return gradient;
}

bool is_optimum(std::span<const float> model) {
  const Values rest = slope(model);
  return std::ranges::all_of(rest, [](float part) { return std::abs(part) < 1e-3f; });
}

// What the server accepted, by the hook that a journal would use.
class Ledger {
 public:
  ExchangeHooks hooks() {
    ExchangeHooks hooks;
    hooks.judged = [this](const server::ParameterServer&,
                          const JudgedUpdate& update) -> std::optional<Close> {
      if (update.outcome.verdict != Verdict::kAccepted) return std::nullopt;
      const std::lock_guard lock(mutex_);
      ++count_;
      distinct_.emplace(update.worker, update.ticket.sequence);
      return std::nullopt;
    };
    return hooks;
  }
  std::uint64_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::uint64_t distinct_count() {
    const std::lock_guard lock(mutex_);
    return distinct_.size();
  }

 private:
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::set<std::pair<std::uint32_t, std::uint64_t>> distinct_;
};

Faults tenth_of_each() { return {.drop = 0.1, .delay = 0.1, .duplicate = 0.1}; }

class Faulty : public testing::Test {
 protected:
  void start(const Faults& faults, const std::function<void(v1::WorkerMessage&)>& edit = {}) {
    setting.exchange.hooks = ledger.hooks();
    server = start_server(setting);
    relay = std::make_unique<FaultyRelay>(RelayOptions{.server = address_of(*server),
                                                       .to_server = faults,
                                                       .to_worker = faults,
                                                       .seed = kSeed,
                                                       .edit = edit});
  }

  ClientOptions options_of(std::size_t worker) const {
    ClientOptions options = client_options(*server, setting, "w" + std::to_string(worker));
    options.server = relay->address();
    options.transfer_max = options.answer_max = milliseconds(250);  // of what is lost for good
    options.back_off_min = milliseconds(5);
    options.back_off_max = milliseconds(50);
    options.patience = kTimeMax;
    options.seed = worker;
    return options;
  }

  // Sends gradients until somebody has the optimum, or `stop` says that this life ends.
  void work(std::size_t worker, const std::atomic<bool>& stop) {
    ClientOptions options = options_of(worker);
    options.stop = &stop;
    Client client = Client::make(options).value();
    const auto joined = client.join();
    EXPECT_TRUE(joined || stop) << joined.error().message;
    if (!joined) return;
    ClientModel model = *joined;
    while (!stop) {
      const auto pushed = client.push(slope(model.values));
      EXPECT_TRUE(pushed || stop || is_done) << pushed.error().message;
      if (!pushed) return;
      ++(pushed->verdict ? known : lost);
      accepted += pushed->verdict == Verdict::kAccepted ? 1u : 0u;
      model = pushed->next;
      if (model.version >= version_min && is_optimum(model.values)) is_done = true;
      if (is_done) return;
    }
  }

  bool is_late() const { return Clock::now() - begin > kTimeMax; }

  void expect_each_update_once() {
    EXPECT_EQ(ledger.distinct_count(), ledger.count());
    EXPECT_EQ(look(*server).accepted_count, ledger.count());
  }

  void print(const char* what, int lives) {
    const RelayCounts counts = relay->counts();
    std::printf(
        "%s: optimum reached with %llu of %llu messages dropped, %llu delayed, %llu duplicated; "
        "%d lives of workers, %llu updates accepted, each once, %llu lost\n",
        what, n(counts.dropped), n(counts.messages), n(counts.delayed), n(counts.duplicated), lives,
        n(ledger.count()), n(lost));
  }
  static unsigned long long n(std::uint64_t number) { return number; }

  TestSetting setting{.weights = server::CappedWeights{.f = 1, .share = 0.34},
                      .rule = "ctma(cwmed, 0.34)",
                      .eta = 0.1};
  std::uint64_t version_min = 100;  // steps to look at: the model may pass the optimum earlier
  Ledger ledger;
  std::optional<NetworkServer> server;
  std::unique_ptr<FaultyRelay> relay;
  std::atomic<bool> is_done = false;
  std::atomic<std::uint64_t> accepted = 0, known = 0, lost = 0;
  const Clock::time_point begin = Clock::now();
};

TEST_F(Faulty, WorkersReachTheOptimumThroughLossDelayAndDuplication) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  start(tenth_of_each());
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < setting.worker_count; ++i) {
    threads.emplace_back([&, i] { work(i, stop); });
  }
  while (!is_done && !is_late()) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(is_done) << "not converged in time";
  stop = true;
  for (std::thread& thread : threads) thread.join();
  expect_each_update_once();
  // A worker knows the fate of all its updates but the one that it was stopped with.
  EXPECT_LE(accepted, ledger.count());
  EXPECT_GE(accepted + setting.worker_count, ledger.count());
  const RelayCounts counts = relay->counts();
  const double messages = static_cast<double>(counts.messages);
  for (const std::uint64_t hit : {counts.dropped, counts.delayed, counts.duplicated}) {
    EXPECT_NEAR(static_cast<double>(hit) / messages, 0.1, 0.04);
  }
  print("faults", static_cast<int>(setting.worker_count));
}

// Each life ends without a good-bye after a random time, mostly in the middle of an update, which
// here has two chunks; the next one knows nothing of it.
TEST_F(Faulty, WorkersDieInTheMiddleOfUpdatesAndTheRunGoesOn) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  setting.dim = 300'000 / kSlowness;
  version_min = 60;
  start(tenth_of_each());
  std::atomic<int> lives = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < setting.worker_count; ++i) {
    threads.emplace_back([&, i] {
      Rng rng(RngKey{.seed = kSeed, .owner = static_cast<std::uint32_t>(i)});
      while (!is_done && !is_late()) {
        std::atomic<bool> stop = false;
        const auto end = Clock::now() + milliseconds(200 + rng.below(800));
        ++lives;
        std::thread life([&] { work(i, stop); });
        while (!is_done && Clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
        stop = true;
        life.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_done) << "not converged in time";
  expect_each_update_once();
  EXPECT_GT(lives, 2 * static_cast<int>(setting.worker_count));
  print("restarts", lives);
}

TEST_F(Faulty, AGarbledUpdateIsLostAndTheWorkerComesBack) {
  std::atomic<int> garble_count = 1;
  start({}, [&](v1::WorkerMessage& message) {
    if (!message.has_chunk() || garble_count-- <= 0) return;
    message.mutable_chunk()->set_checksum(message.chunk().checksum() ^ 1u);
  });
  Client client = Client::make(options_of(0)).value();
  ASSERT_TRUE(client.join());
  const auto garbled = client.push(Values(setting.dim));
  ASSERT_TRUE(garbled) << garbled.error().message;
  EXPECT_EQ(garbled->verdict, std::nullopt);
  EXPECT_EQ(client.reconnect_count(), 1u);
  EXPECT_EQ(look(*server).verdicts(0, Verdict::kMalformed), 1u);
}

TEST_F(Faulty, AForgedTicketIsFinal) {
  start({}, [&](v1::WorkerMessage& message) {
    if (message.has_update()) message.mutable_update()->mutable_ticket()->front() ^= 1;
  });
  Client client = Client::make(options_of(0)).value();
  ASSERT_TRUE(client.join());
  EXPECT_FALSE(client.push(Values(setting.dim)));
  EXPECT_EQ(client.reconnect_count(), 0u);
  EXPECT_EQ(look(*server).verdicts(0, Verdict::kForged), 1u);
}

// Whoever garbles everything must not be served by a worker that tries for ever.
TEST_F(Faulty, AWorkerWhoseUpdatesNeverArriveWholeGivesUp) {
  start({}, [&](v1::WorkerMessage& message) {
    if (message.has_chunk()) message.mutable_chunk()->set_offset(7);
  });
  ClientOptions options = options_of(0);
  options.patience = milliseconds(300);
  options.answer_max = milliseconds(5'000);
  Client client = Client::make(options).value();
  ASSERT_TRUE(client.join());
  int tries = 1;
  while (tries < 100 && client.push(Values(setting.dim))) ++tries;
  // Pauses of 5, 10, 20, 40, 50, 50, ... ms make 300 ms with the ninth.
  EXPECT_EQ(tries, 10);
  EXPECT_EQ(look(*server).verdicts(0, Verdict::kMalformed), 10u);
}

}  // namespace
}  // namespace ballast::transport
