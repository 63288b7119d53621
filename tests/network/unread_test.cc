// Streams whose peers do not read: what the server has for them must not pile up.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ballast/transport/memory_budget.h"
#include "ballast/transport/model_loans.h"
#include "tests/network/test_http2.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kWide = 1u << 30;

bool wait_until(const std::function<bool()>& is_so, milliseconds time = milliseconds(5'000)) {
  const auto end = std::chrono::steady_clock::now() + kSlowness * time;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// Remembers every model that there was, without keeping it.
class Models {
 public:
  ExchangeHooks hooks() {
    ExchangeHooks hooks;
    hooks.judged = [this](const server::ParameterServer& server, const JudgedUpdate&) {
      const std::lock_guard lock(mutex_);
      models_.push_back(server.model().values);
      return std::nullopt;
    };
    return hooks;
  }
  std::size_t alive() {
    const std::lock_guard lock(mutex_);
    std::erase_if(models_, [](const auto& model) { return model.expired(); });
    return models_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<const Values>> models_;
};

// A stream that has joined as w0 and reads nothing, neither does its kernel.
bool join_unread(Http2Connection& connection, const TestSetting& setting) {
  const int little = 1 << 14;
  setsockopt(connection.socket(), SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
  return connection.open(Http2Connection::call_fields("w0")) &&
         connection.send_message(RawWorker::join_message(setting).SerializeAsString());
}

// The newest model, the one before, and those of the workers.
std::size_t models_max(const TestSetting& setting) {
  return 2 + setting.network.limits.models_per_worker_max * setting.worker_count;
}

TestSetting unread_setting() {
  TestSetting setting{.dim = 1'000'000, .worker_count = 2};
  setting.network.limits.memory_bytes_max = std::size_t{16} << 20;
  setting.network.limits.connections_max = 64;
  return setting;
}

// In a process of its own: w0 opens streams on one connection after the other and reads nothing;
// w1 makes a new model for each of them.
[[noreturn]] void withstand_unread() {
  constexpr int kConnections = 24, kStreams = 4;
  Models models;
  TestSetting setting = unread_setting();
  setting.exchange.hooks = models.hooks();
  const MemoryBudget budget =
      memory_budget(setting.network.limits, {.worker_count = setting.worker_count}, setting.dim);
  setting.network.memory_budget = budget.total();
  NetworkServer server = start_server(setting);
  Client honest = Client::make(client_options(server, setting, "w1")).value();
  if (!honest.join()) std::exit(20);
  std::vector<std::unique_ptr<Http2Connection>> connections;
  std::size_t alive_max = 0;
  for (int i = 0; i < kConnections; ++i) {
    connections.push_back(std::make_unique<Http2Connection>(server.port(), false));
    if (i % 2 == 0) connections.back()->set_window(kWide);
    for (int j = 0; j < kStreams; ++j) {
      join_unread(*connections.back(), setting);
      const auto pushed = honest.push(Values(setting.dim));
      if (!pushed || pushed->verdict != server::Verdict::kAccepted) std::exit(21);
      if (!wait_until([&] { return models.alive() <= models_max(setting); })) std::exit(22);
      alive_max = std::max(alive_max, models.alive());
    }
  }
  const double peak = static_cast<double>(resident_bytes_max()) / (1 << 20);
  const double allowed = static_cast<double>(budget.total()) / (1 << 20);
  const NetworkCounts counts = server.counts();
  std::printf(
      "unread: %d connections x %d streams, %zu of at most %zu models alive, %llu connections "
      "ended, peak memory %.1f MiB of a budget of %.1f MiB\n",
      kConnections, kStreams, alive_max, models_max(setting),
      static_cast<unsigned long long>(counts.guard.ended()), peak, allowed);
  std::fflush(stdout);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (peak > 1.05 * allowed) std::exit(23);
#endif
  std::_Exit(0);
}

TEST(Unread, ManyStreamsOfOneWorkerDoNotGrowTheServer) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(withstand_unread(), testing::ExitedWithCode(0), "");
}

TEST(Unread, AReplacedStreamLetsItsModelGo) {
  for (const std::uint32_t window : {kWide, std::uint32_t{65'535}}) {
    SCOPED_TRACE(window);
    Models models;
    TestSetting setting = unread_setting();
    setting.dim = 4'000'000;  // more than the sockets take, of which some let 4 MiB wait
    setting.exchange.hooks = models.hooks();
    setting.network.limits.farewell_max = kSlowness * milliseconds(200);
    NetworkServer server = start_server(setting);
    Client honest = Client::make(client_options(server, setting, "w1")).value();
    ASSERT_TRUE(honest.join());
    ASSERT_TRUE(honest.push(Values(setting.dim)));
    Http2Connection older(server.port()), newer(server.port());
    older.set_window(window);
    ASSERT_TRUE(join_unread(older, setting));
    // A stream is open before its worker has joined, which then has the newest model for a while.
    ASSERT_TRUE(wait_until([&] {
      return honest.push(Values(setting.dim)) && models.alive() >= 2;  // the newest, the unread one
    }));
    ASSERT_TRUE(newer.open(Http2Connection::call_fields("w0")));
    ASSERT_TRUE(newer.send_message(RawWorker::join_message(setting).SerializeAsString()));
    ASSERT_TRUE(newer.read_message());
    // Twice the bound and the time between two looks, and not the 20 seconds of a slow transfer.
    EXPECT_TRUE(wait_until([&] { return models.alive() == 1; }, milliseconds(3'000)));
  }
}

TEST(Unread, TheOldestOfTooManyStreamsIsEnded) {
  const TestSetting setting;
  NetworkServer server = start_server(setting);
  std::vector<std::unique_ptr<Http2Connection>> connections;
  for (int i = 0; i < 10; ++i) {
    connections.push_back(std::make_unique<Http2Connection>(server.port()));
    ASSERT_TRUE(connections.back()->open(Http2Connection::call_fields("w0")));
    ASSERT_TRUE(wait_until([&] { return server.counts().streams_opened == std::uint64_t(i) + 1; }));
  }
  EXPECT_TRUE(wait_until([&] { return server.counts().streams_open == 4; }));
  EXPECT_EQ(server.counts().streams_surplus, 6u);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(connections[std::size_t(i)]->wait_for_end());
  // The newest is served.
  ASSERT_TRUE(
      connections.back()->send_message(RawWorker::join_message(setting).SerializeAsString()));
  EXPECT_TRUE(connections.back()->read_message());
}

// Streams that are replaced and take nothing, strangers that come and go, and the end.
TEST(Unread, AServerStopsInTheMiddleOfAFlood) {
  TestSetting setting = unread_setting();
  NetworkServer server = start_server(setting);
  const std::uint16_t port = server.port();
  std::atomic<bool> is_over = false;
  std::vector<std::thread> flood;
  for (int i = 0; i < 4; ++i) {
    flood.emplace_back([&, i] {
      std::vector<std::unique_ptr<Http2Connection>> connections;
      while (!is_over && connections.size() < 50) {
        close(connect_to(port));  // a stranger
        connections.push_back(std::make_unique<Http2Connection>(port, false));
        if (i % 2 == 0) connections.back()->set_window(kWide);
        join_unread(*connections.back(), setting);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  ASSERT_TRUE(wait_until([&] { return server.counts().streams_opened > 20; }));
  is_over = true;  // connections that were begun still come
  const auto begin = std::chrono::steady_clock::now();
  server.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSlowness * milliseconds(5'000));
  for (std::thread& thread : flood) thread.join();
}

// Without a window not even "come back" gets through.
TEST(Unread, AHeldWorkerThatTakesNothingIsSentAwayNevertheless) {
  TestSetting setting{.weights = server::CappedWeights{.f = 1, .share = 0.34}};
  setting.exchange.hold_max = milliseconds(100);
  setting.network.limits.farewell_max = kSlowness * milliseconds(200);
  NetworkServer server = start_server(setting);
  {
    RawWorker first(server, "w0");
    const auto header = first.join(setting);
    ASSERT_TRUE(header);
    ASSERT_TRUE(first.send_update(header->ticket(), Values(setting.dim)));
    ASSERT_EQ(first.read_verdict(), server::Verdict::kAccepted);
    first.vanish();
  }
  ASSERT_TRUE(wait_until([&] { return server.counts().streams_open == 0; }));
  Http2Connection deaf(server.port());
  deaf.set_window(0);
  v1::WorkerMessage join = RawWorker::join_message(setting);
  join.mutable_join()->set_is_fresh(false);
  ASSERT_TRUE(deaf.open(Http2Connection::call_fields("w0")));
  ASSERT_TRUE(deaf.send_message(join.SerializeAsString()));
  ASSERT_TRUE(wait_until([&] { return server.counts().streams_open == 1; }));
  EXPECT_TRUE(wait_until([&] { return server.counts().streams_open == 0; }, milliseconds(3'000)));
}

}  // namespace
}  // namespace ballast::transport
