// Calls by the ten thousand, from peers that never acknowledge the limits of HTTP/2: gRPC would
// take them all. The server ends their connections; its memory stays within the budget, and an
// honest worker goes on training on the one connection it has.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ballast/transport/endpoint.h"
#include "ballast/transport/memory_budget.h"
#include "tests/network/test_certificates.h"
#include "tests/network/test_http2.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

constexpr int kConnections = 16;
constexpr int kRounds = 3;  // an attacker comes back that often
constexpr std::chrono::milliseconds kRoundMax{1000};

struct Flood {
  const char* what;
  const char* path;
  const char* worker;
  bool is_read;           // whether the attacker takes the answers
  bool has_data = false;  // an empty message, and the end of what the attacker says
  std::size_t metadata_bytes = 0;
};

constexpr std::array<Flood, 6> kFloods = {{
    {"refused calls, unread", "/ballast.v1.ParameterServer/Train", "nobody", false},
    {"unknown methods, unread", "/ballast.v1.ParameterServer/Nonsense", "w1", false},
    {"unknown methods, read", "/ballast.v1.ParameterServer/Nonsense", "w1", true},
    {"calls that wait for a join, read", "/ballast.v1.ParameterServer/Train", "w1", true},
    {"health watches, read", "/grpc.health.v1.Health/Watch", "w1", true, true},
    {"a megabyte of metadata each, read", "/ballast.v1.ParameterServer/Train", "w1", true, false,
     1 << 20},
}};

TestSetting setting() { return {.dim = 2'000, .worker_count = 8}; }

// Calls of sixteen bytes, or one with much metadata.
bool open_calls(Http2Connection& connection, const Flood& how,
                const Http2Connection::Fields& fields) {
  if (how.metadata_bytes > 0) return connection.open(fields);
  return connection.open_again(500, how.has_data ? Http2Connection::prefix(0) : "");
}

// Opens calls as fast as they are taken, until the server is tired of it.
void flood(std::uint16_t port, const Flood& how) {
  Http2Connection connection(port, false);
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(connection.socket(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  auto fields = Http2Connection::call_fields(how.worker);
  fields[2].second = how.path;
  std::string answers(1 << 16, '\0');
  const auto end = std::chrono::steady_clock::now() + kRoundMax;
  bool is_alive = connection.open_remembered(fields);
  fields.emplace_back("junk", std::string(how.metadata_bytes, 'x'));
  while (is_alive && std::chrono::steady_clock::now() < end) {
    is_alive = open_calls(connection, how, fields);
    while (how.is_read &&
           recv(connection.socket(), answers.data(), answers.size(), MSG_DONTWAIT) > 0) {
      continue;
    }
  }
}

// In a process of its own, without gRPC.
[[noreturn]] void attack(int port_pipe) {
  std::uint16_t port = 0;
  if (read(port_pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  for (const Flood& how : kFloods) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::thread> threads;
      for (int i = 0; i < kConnections; ++i) threads.emplace_back([&] { flood(port, how); });
      for (std::thread& thread : threads) thread.join();
    }
  }
  _exit(0);
}

// Pushes one update after the other until told to stop. Each has to be accepted.
class HonestWorker {
 public:
  explicit HonestWorker(const NetworkServer& server)
      : client_(Client::make(client_options(server, setting(), "w0")).value()) {
    if (!client_.join()) std::exit(20);
    thread_ = std::thread([this] { push_on(); });
  }
  ~HonestWorker() { stop(); }

  void stop() {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int pushed() const { return pushed_; }
  double seconds_max() const { return seconds_max_; }

 private:
  void push_on() {
    while (!is_stopping_) {
      const auto begin = std::chrono::steady_clock::now();
      const auto pushed = client_.push(Values(setting().dim));
      if (!pushed || pushed->verdict != server::Verdict::kAccepted) std::exit(21);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      seconds_max_ = std::max(seconds_max_.load(), time.count());
      ++pushed_;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  Client client_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<int> pushed_ = 0;
  std::atomic<double> seconds_max_ = 0.0;
  std::thread thread_;
};

// Runs in a process of its own, so that its peak is that of the server.
[[noreturn]] void withstand() {
  int ports[2] = {};
  if (pipe(ports) != 0) std::exit(10);
  const pid_t attacker = fork();
  if (attacker == 0) attack(ports[0]);

  TestSetting options = setting();
  const MemoryBudget budget =
      memory_budget(options.network.limits, {.worker_count = options.worker_count}, options.dim);
  options.network.memory_budget = budget.total();
  NetworkServer server = start_server(options);
  HonestWorker honest(server);
  const std::uint16_t port = server.port();
  if (write(ports[1], &port, sizeof(port)) != sizeof(port)) std::exit(11);
  int status = 0;
  if (waitpid(attacker, &status, 0) != attacker || status != 0) std::exit(12);
  honest.stop();

  const NetworkCounts counts = server.counts();
  const std::uint64_t peak = resident_bytes_max();
  constexpr double kMegabyte = 1 << 20;
  std::printf(
      "flood: %llu of %llu connections ended (%llu for calls, %llu as strangers, %llu unread), "
      "peak memory %.1f MiB of a budget of %.1f MiB; %d honest updates meanwhile, the slowest in "
      "%.3f s\n",
      static_cast<unsigned long long>(counts.guard.ended()),
      static_cast<unsigned long long>(counts.connections.accepted),
      static_cast<unsigned long long>(counts.guard.ended_calls),
      static_cast<unsigned long long>(counts.guard.ended_strange),
      static_cast<unsigned long long>(counts.guard.ended_unread),
      static_cast<double>(peak) / kMegabyte, static_cast<double>(budget.total()) / kMegabyte,
      honest.pushed(), honest.seconds_max());
  std::fflush(stdout);
  if (counts.guard.ended() + 1 < counts.connections.accepted) std::exit(30);
  // The honest worker has had one connection.
  const std::size_t attacks = kFloods.size() * kRounds * kConnections;
  if (counts.connections.accepted != attacks + 1) std::exit(31);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (static_cast<double>(peak) > 1.05 * static_cast<double>(budget.total())) std::exit(32);
#endif
  std::_Exit(0);
}

// Workers are told from strangers by their addresses, as the kernel and as gRPC write them: 400 kB
// of an update that is not known for one would end the connection.
TEST(Flood, AWorkerIsNoStrangerWhateverItsAddressLooksLike) {
  TestAuthority authority;
  TestSetting options{.dim = 100'000};
  options.network.tls = authority.issue("server");
  options.network.identify = common_name;
  for (const auto& [listen, host] :
       {std::pair("127.0.0.1:0", "127.0.0.1:"), std::pair("[::1]:0", "[::1]:"),
        std::pair("[::]:0", "127.0.0.1:")}) {
    SCOPED_TRACE(listen);
    options.network.listen = listen;
    if (!Listener::open({.address = listen})) GTEST_SKIP() << "no IPv6 here";
    NetworkServer server = start_server(options);
    ClientOptions client = client_options(server, options, "w0");
    client.server = host + std::to_string(server.port());
    client.server_name = "localhost";
    client.tls = authority.issue("w0");
    Client worker = Client::make(client).value();
    ASSERT_TRUE(worker.join());
    for (int i = 0; i < 10; ++i) {
      const auto pushed = worker.push(Values(options.dim));
      ASSERT_TRUE(pushed) << pushed.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(server.counts().guard.ended(), 0u);
    EXPECT_EQ(server.counts().connections.accepted, 1u);
  }
}

// A server on all addresses, reached at two of them from one port: gRPC's name for the caller is
// the same for both, so the guard would take calls of the one for calls of the other.
TEST(Flood, ASecondConnectionFromTheSamePortIsNotTaken) {
  TestAuthority authority;
  TestSetting options;
  options.network.listen = "0.0.0.0:0";
  options.network.tls = authority.issue("server");
  options.network.identify = common_name;
  NetworkServer server = start_server(options);
  const auto connect_from = [&](const std::string& port, const char* to) {
    const auto from = resolve({.host = "127.0.0.1", .port = port}).value();
    const auto target = resolve({.host = to, .port = std::to_string(server.port())}).value();
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&from.storage), from.size), 0);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&target.storage), target.size),
              0);
    return descriptor;
  };
  const int first = connect_from("0", "127.0.0.1");
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  getsockname(first, reinterpret_cast<sockaddr*>(&own), &size);
  const int second = connect_from(std::to_string(ntohs(own.sin_port)), "127.0.0.2");
  const auto is_closed = [](int descriptor) {
    pollfd event{.fd = descriptor, .events = POLLRDHUP, .revents = 0};
    return poll(&event, 1, 2000) == 1;
  };
  EXPECT_TRUE(is_closed(second));
  EXPECT_EQ(server.counts().guard.refused_twins, 1u);
  EXPECT_EQ(server.counts().guard.ended(), 0u);
  close(first);
  close(second);
}

TEST(Flood, OfCallsThatNobodyAllowedDoesNotGrowTheServer) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(withstand(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ballast::transport
