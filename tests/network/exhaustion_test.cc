// Attacks on what the process has: descriptors and memory.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "ballast/transport/endpoint.h"
#include "ballast/transport/memory_budget.h"
#include "tests/network/test_http2.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;

constexpr int kAttackConnections = 300;

// In a process of its own, with descriptors of its own: reads the port from the pipe, opens all the
// connections at once, holds them for a moment and drops them.
[[noreturn]] void storm(int pipe) {
  std::uint16_t port = 0;
  if (read(pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  const auto address = resolve({.host = "127.0.0.1", .port = std::to_string(port)}).value();
  for (int i = 0; i < kAttackConnections; ++i) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int code =
        connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size);
    if (code != 0 && errno != EINPROGRESS) _exit(1);
  }
  std::this_thread::sleep_for(milliseconds(700));
  _exit(0);
}

// Runs in a process of its own (see below); exits with 0 if a worker gets in after the storm.
[[noreturn]] void survive_storm() {
  int pipes[2] = {};
  if (pipe(pipes) != 0) std::exit(10);
  const pid_t attacker = fork();
  if (attacker == 0) storm(pipes[0]);
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) std::exit(11);

  const TestSetting setting;
  NetworkServer server = start_server(setting);
  const std::uint16_t port = server.port();
  if (write(pipes[1], &port, sizeof(port)) != sizeof(port)) std::exit(12);
  int status = 0;
  if (waitpid(attacker, &status, 0) != attacker || status != 0) std::exit(13);

  const auto begin = std::chrono::steady_clock::now();
  Client client = Client::make(client_options(server, setting, "w0")).value();
  if (!client.join()) std::exit(14);
  if (!client.push(Values(setting.dim))) std::exit(15);
  if (std::chrono::steady_clock::now() - begin > milliseconds(1000)) std::exit(16);
  const NetworkCounts counts = server.counts();
  if (counts.guard.ended_displaced + counts.connections.refused_descriptors == 0) std::exit(17);
  std::_Exit(0);
}

// Debian's gRPC stops accepting for good after this (CVE-2023-4785).
TEST(Exhaustion, AStormOfConnectionsWithFewDescriptorsPasses) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(survive_storm(), testing::ExitedWithCode(0), "");
}

TEST(Exhaustion, WithoutDescriptorsConnectionsAreDroppedAndLaterTaken) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto listener = Listener::open({}).value();
  std::atomic<int> taken_count = 0;
  listener->start([&](int descriptor) {
    close(descriptor);
    ++taken_count;
  });
  const auto address =
      resolve({.host = "127.0.0.1", .port = std::to_string(listener->port())}).value();
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  const int first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0);
  std::vector<int> fillers;
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int copy = dup(first); copy >= 0; copy = dup(first)) fillers.push_back(copy);

  ASSERT_EQ(connect(first, raw, address.size), 0);
  for (int i = 0; i < 200 && listener->counts().refused_descriptors == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(listener->counts().refused_descriptors, 1u);
  EXPECT_EQ(taken_count, 0);

  for (const int copy : fillers) close(copy);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(connect(second, raw, address.size), 0);
  for (int i = 0; i < 200 && taken_count == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(taken_count, 1);
  close(first);
  close(second);
}

// Connects without saying anything, from an address of this machine.
std::vector<int> knock(const NetworkServer& server, const std::string& host, int count) {
  const auto from = resolve({.host = host, .port = "0"}).value();
  const auto to = resolve({.host = "127.0.0.1", .port = std::to_string(server.port())}).value();
  std::vector<int> sockets;
  for (int i = 0; i < count; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(sockets.back(), reinterpret_cast<const sockaddr*>(&from.storage), from.size), 0);
    EXPECT_EQ(connect(sockets.back(), reinterpret_cast<const sockaddr*>(&to.storage), to.size), 0);
  }
  return sockets;
}

// Behind one address, as after a restart of the server: nothing is known of anybody.
TEST(Exhaustion, ANewcomerGetsInThoughStrangersHoldEveryConnection) {
  TestSetting setting;
  setting.network.limits.connections_max = 16;
  setting.network.limits.strangers_per_address_max = 8;
  for (const char* host : {"127.0.0.1", "127.0.0.2"}) {
    SCOPED_TRACE(host);
    NetworkServer server = start_server(setting);
    Client early = Client::make(client_options(server, setting, "w0")).value();
    ASSERT_TRUE(early.join());
    const std::vector<int> strangers = knock(server, host, 40);
    for (int i = 0; i < 500 && server.counts().connections.accepted < 41; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_GE(server.counts().guard.ended_displaced, 32u);
    Client late = Client::make(client_options(server, setting, "w1")).value();
    const auto joined = late.join();
    EXPECT_TRUE(joined) << joined.error().message;
    EXPECT_TRUE(late.push(Values(setting.dim)));
    // Who had joined before has not noticed.
    EXPECT_TRUE(early.push(Values(setting.dim)));
    EXPECT_EQ(early.reconnect_count() + late.reconnect_count(), 0u);
    for (const int stranger : strangers) close(stranger);
  }
}

TEST(Exhaustion, StrangersThatDoNothingAreEnded) {
  TestSetting setting;
  setting.network.limits.connection_idle_max = kSlowness * milliseconds(300);
  NetworkServer server = start_server(setting);
  Client worker = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(worker.join());
  const std::vector<int> strangers = knock(server, "127.0.0.1", 5);
  for (const int stranger : strangers) {
    pollfd event{.fd = stranger, .events = POLLRDHUP, .revents = 0};
    EXPECT_EQ(poll(&event, 1, kSlowness * 5'000), 1);
  }
  EXPECT_TRUE(worker.push(Values(setting.dim)));
  EXPECT_EQ(worker.reconnect_count(), 0u);
  for (const int stranger : strangers) close(stranger);
}

// gRPC's limit on messages alone would buffer all of it first.
TEST(Exhaustion, AGiantMessageDoesNotGrowTheServer) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  TestSetting setting;
  setting.network.limits.memory_bytes_max = 16 * kMegabyte;
  setting.network.limits.strange_bytes_max = std::uint64_t{1} << 40;  // else it would not get far
  NetworkServer server = start_server(setting);
  ASSERT_TRUE(Client::make(client_options(server, setting, "w1")).value().join());
  const std::size_t before = resident_bytes();
  std::size_t largest = before;
  {
    Http2Connection attacker(server.port());
    attacker.open(Http2Connection::call_fields("w0"));
    attacker.send_data(Http2Connection::prefix(256 * kMegabyte));
    const std::string part(16'384, 'x');
    while (attacker.sent_bytes() < 256 * kMegabyte && attacker.send_data(part)) {
      largest = std::max(largest, resident_bytes());
    }
    EXPECT_GT(attacker.sent_bytes(), kMegabyte);  // the attack did begin
    EXPECT_LT(attacker.sent_bytes(), 256 * kMegabyte);
  }
  EXPECT_LT(largest - before, 32 * kMegabyte);
  EXPECT_TRUE(Client::make(client_options(server, setting, "w1")).value().join());
}

}  // namespace
}  // namespace ballast::transport
