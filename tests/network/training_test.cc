#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "ballast/wire/bfloat16.h"
#include "tests/network/test_certificates.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using server::Verdict;
using std::chrono::milliseconds;

// The gradient of |x - (1, 2, 3, ...)|^2 / 2.
Values slope(std::span<const float> model) {
  Values gradient(model.begin(), model.end());
  for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] -= static_cast<float>(j + 1);
  return gradient;
}

double distance(std::span<const float> model) {
  double largest = 0.0;
  for (const float part : slope(model)) largest = std::max(largest, double{std::abs(part)});
  return largest;
}

// Every client sends gradients until one of them is given the optimum; then the server stops, which
// lets the held ones go.
void expect_convergence(NetworkServer& server, const std::vector<ClientOptions>& clients) {
  std::atomic<bool> is_done = false;
  std::vector<std::thread> threads;
  for (ClientOptions options : clients) {
    options.patience = kSlowness * milliseconds(300);
    threads.emplace_back([options, &is_done] {
      Client client = Client::make(options).value();
      const auto first = client.join();
      EXPECT_TRUE(first || is_done) << first.error().message;
      if (!first) return;
      ClientModel model = *first;
      while (!is_done) {
        const auto pushed = client.push(slope(model.values));
        if (!pushed) return;
        EXPECT_EQ(pushed->verdict, Verdict::kAccepted);
        model = pushed->next;
        if (distance(model.values) < 1e-3) is_done = true;
      }
    });
  }
  for (int i = 0; i < 1000 && !is_done; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(is_done) << "not converged in time";
  is_done = true;
  server.stop();
  for (std::thread& thread : threads) thread.join();
}

TestSetting robust_setting() {
  return {.weights = server::CappedWeights{.f = 1, .share = 0.34},
          .rule = "ctma(cwmed, 0.34)",
          .eta = 0.2};
}

TEST(Training, FourWorkersReachTheOptimumWithoutEncryption) {
  const TestSetting setting = robust_setting();
  NetworkServer server = start_server(setting);
  std::vector<ClientOptions> clients;
  for (const char* name : {"w0", "w1", "w2", "w3"}) {
    clients.push_back(client_options(server, setting, name));
  }
  expect_convergence(server, clients);
}

TEST(Training, FourWorkersReachTheOptimumWithMutualTls) {
  TestAuthority authority;
  TestSetting setting = robust_setting();
  setting.network.tls = authority.issue("server");
  setting.network.identify = common_name;
  NetworkServer server = start_server(setting);
  std::vector<ClientOptions> clients;
  for (const char* name : {"w0", "w1", "w2", "w3"}) {
    clients.push_back(client_options(server, setting, "ignored"));
    clients.back().tls = authority.issue(name);
  }
  expect_convergence(server, clients);
}

TEST(Training, StrangersAndTheRevokedAreTurnedAway) {
  TestAuthority authority, stranger;
  std::atomic<bool> is_revoked = false;
  TestSetting setting;
  setting.network.tls = authority.issue("server");
  setting.network.identify = [&](std::string_view pem) -> Identified {
    if (is_revoked) return tl::unexpected(Denied{.why = Denial::kRevoked, .detail = {}});
    return common_name(pem);
  };
  NetworkServer server = start_server(setting);
  ClientOptions options = client_options(server, setting, "w0");
  options.patience = milliseconds(200);
  options.connect_max = milliseconds(1000);

  // Signed by nobody we know; no certificate at all; known but not enrolled.
  options.tls = stranger.issue("w0");
  options.tls->authority = authority.path("authority.crt");
  EXPECT_FALSE(Client::make(options).value().join());
  options.tls.reset();
  EXPECT_FALSE(Client::make(options).value().join());
  options.tls = authority.issue("w9");
  const auto unknown = Client::make(options).value().join();
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("not enrolled"), std::string::npos);

  options.tls = authority.issue("w0");
  Client client = Client::make(options).value();
  ASSERT_TRUE(client.join());
  ASSERT_TRUE(client.push(Values(setting.dim)));
  is_revoked = true;
  const auto refused = client.push(Values(setting.dim));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("revoked"), std::string::npos);
  EXPECT_EQ(look(server).accepted_count, 1u);
}

// The server's files are replaced by those of another authority, one after the other, as an
// operator would do it.
TEST(Training, NewCertificatesNeedNoRestart) {
  TestAuthority old_authority, new_authority;
  TestSetting setting;
  setting.network.tls = old_authority.issue("server");
  setting.network.identify = common_name;
  NetworkServer server = start_server(setting);
  ClientOptions options = client_options(server, setting, "w0");
  options.patience = milliseconds(100);
  options.tls = new_authority.issue("w0");
  EXPECT_FALSE(Client::make(options).value().join());
  new_authority.issue("server");
  for (const char* file : {"server.key", "server.crt", "authority.crt"}) {
    std::filesystem::rename(new_authority.path(file), old_authority.path(file));
  }
  options.tls->authority = old_authority.path("authority.crt");
  options.patience = milliseconds(5000);
  EXPECT_TRUE(Client::make(options).value().join());
}

TEST(Training, Bfloat16HalvesTheBytesAndRoundsTheValues) {
  const TestSetting setting{.dim = 3, .worker_count = 1, .eta = 1.0};
  NetworkServer server = start_server(setting);
  ClientOptions options = client_options(server, setting, "w0");
  options.update_encoding = wire::Encoding::kBfloat16;
  options.model_encoding = wire::Encoding::kBfloat16;
  Client client = Client::make(options).value();
  ASSERT_TRUE(client.join());
  const Values update = {-1.0f, -1.001f, 1e-3f};
  const PushResult pushed = client.push(update).value();
  for (std::size_t j = 0; j < update.size(); ++j) {
    EXPECT_EQ(pushed.next.values[j], -wire::from_bfloat16(wire::to_bfloat16(update[j])));
  }
}

TEST(Training, StatisticsTravelWithTheUpdate) {
  const TestSetting setting{.dim = 2, .statistic_count = 3, .worker_count = 1};
  NetworkServer server = start_server(setting);
  Client client = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(client.join());
  ASSERT_EQ(client.push(Values{1.0f, 1.0f}, Values{7.0f, 8.0f, 9.0f}).value().verdict,
            Verdict::kAccepted);
  Values statistics;
  server.exchange().inspect(
      [&](const server::ParameterServer& core) { statistics = core.statistics().value(); });
  EXPECT_EQ(statistics, (Values{7.0f, 8.0f, 9.0f}));
}

TEST(Training, AClientComesBackAfterTheServerWasAway) {
  TestSetting setting;
  std::optional<NetworkServer> server = start_server(setting);
  Client client = Client::make(client_options(*server, setting, "w0")).value();
  ASSERT_TRUE(client.join());
  ASSERT_TRUE(client.push(Values(setting.dim)));
  setting.network.listen = address_of(*server);
  server.reset();
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(300));
    server = start_server(setting);
  });
  const auto lost = client.push(Values(setting.dim));
  later.join();
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_EQ(lost->verdict, std::nullopt);
  EXPECT_EQ(lost->next.count, 0u);
  EXPECT_EQ(client.reconnect_count(), 1u);
  EXPECT_EQ(client.push(Values(setting.dim)).value().verdict, Verdict::kAccepted);
}

TEST(Training, AHeldWorkerIsToldToComeBackAndGoesOnWhenOthersMoved) {
  TestSetting setting = robust_setting();
  setting.exchange.hold_max = milliseconds(100);
  NetworkServer server = start_server(setting);
  Client first = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(first.join());
  std::vector<std::thread> others;
  for (const char* name : {"w1", "w2"}) {
    others.emplace_back([&, name] {
      std::this_thread::sleep_for(milliseconds(400));
      Client client = Client::make(client_options(server, setting, name)).value();
      ASSERT_TRUE(client.join());
      ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
    });
  }
  // Held below the quorum until w1 and w2 have sent.
  const auto pushed = first.push(Values(setting.dim, 1.0f));
  for (std::thread& other : others) other.join();
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->verdict, Verdict::kAccepted);
  EXPECT_GE(first.reconnect_count(), 1u);
  EXPECT_EQ(pushed->next.count, 1u);
}

// w0 sends a large lie whenever it is let; the others take 5 ms for a gradient. Its share of the
// weight stays where it belongs, no honest update is refused, and the lie does not get through.
TEST(Training, AFloodIsHeldAndTheHonestOnesGoOn) {
  TestSetting setting = robust_setting();
  setting.worker_count = 5;
  setting.weights = server::CappedWeights{.f = 1, .share = 0.25};
  NetworkServer server = start_server(setting);
  std::atomic<bool> is_done = false;
  std::atomic<std::uint64_t> lies = 0, honest = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      ClientOptions options = client_options(server, setting, "w" + std::to_string(i));
      options.patience = kSlowness * milliseconds(300);
      Client client = Client::make(options).value();
      auto model = client.join();
      while (model && !is_done) {
        if (i > 0) std::this_thread::sleep_for(milliseconds(5));
        const auto pushed = client.push(i == 0 ? Values(setting.dim, 1e6f) : slope(model->values));
        if (!pushed) return;
        ++(i == 0 ? lies : honest);
        refused += pushed->verdict == Verdict::kAccepted ? 0u : 1u;
        if (i > 0 && pushed->next.count >= 40) is_done = true;
        model = pushed->next;
      }
    });
  }
  for (int i = 0; i < 1000 && !is_done; ++i) std::this_thread::sleep_for(milliseconds(10));
  const Seen seen = look(server);
  server.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(honest, 100u);
  EXPECT_EQ(refused, 0u);
  EXPECT_LE(seen.heaviest_share_max, 0.25 + 1e-12);
  // The lead limit: twice the second fastest, and two.
  EXPECT_LE(lies, 2u * 42u + 2u);
  EXPECT_LT(distance(seen.model), 10.0);
}

TEST(Training, LeavingTakesTheRowAway) {
  const TestSetting setting;
  NetworkServer server = start_server(setting);
  Client client = Client::make(client_options(server, setting, "w2")).value();
  ASSERT_TRUE(client.join());
  ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
  EXPECT_EQ(look(server).workers[2].count, 1u);
  client.leave();
  for (int i = 0; i < 100 && look(server).workers[2].count > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(look(server).workers[2].count, 0u);
}

// Below the quorum a worker that has a row is held; it says good-bye from there.
TEST(Training, AHeldWorkerThatIsStoppedTakesItsRowAway) {
  const TestSetting setting = robust_setting();
  NetworkServer server = start_server(setting);
  std::atomic<bool> stop = false;
  ClientOptions options = client_options(server, setting, "w2");
  options.stop = &stop;
  std::thread held([&] {
    Client client = Client::make(options).value();
    ASSERT_TRUE(client.join());
    const auto pushed = client.push(Values(setting.dim, 1.0f));
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code, ErrorCode::kInterrupted);
  });
  for (int i = 0; i < 500 && look(server).workers[2].count == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(look(server).workers[2].count, 1u);
  stop = true;
  held.join();
  for (int i = 0; i < 500 && look(server).workers[2].count > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(look(server).workers[2].count, 0u);
}

// One is computing, the other one is held, when the server has had enough.
TEST(Training, WorkersAreToldThatTheTrainingIsOver) {
  const TestSetting setting = robust_setting();
  NetworkServer server = start_server(setting);
  Client computing = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(computing.join());
  std::thread held([&] {
    Client client = Client::make(client_options(server, setting, "w1")).value();
    ASSERT_TRUE(client.join());
    const auto pushed = client.push(Values(setting.dim, 1.0f));
    ASSERT_TRUE(pushed) << pushed.error().message;
    EXPECT_EQ(pushed->verdict, Verdict::kAccepted);
    EXPECT_TRUE(pushed->next.is_over);
  });
  for (int i = 0; i < 500 && look(server).accepted_count == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  server.stop(Close::kFinished);
  held.join();
  const auto pushed = computing.push(Values(setting.dim, 1.0f));
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->verdict, std::nullopt);
  EXPECT_TRUE(pushed->next.is_over);
}

TEST(Training, TwoThreadsMayStopTheServer) {
  const TestSetting setting;
  NetworkServer server = start_server(setting);
  Client client = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(client.join());
  std::thread other([&] { server.stop(Close::kFinished); });
  server.stop(Close::kFinished);
  const auto pushed = client.push(Values(setting.dim, 1.0f));
  other.join();
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_TRUE(pushed->next.is_over);
}

TEST(Training, ServingWithoutCertificatesIsForLoopbackOnly) {
  TestSetting setting;
  NetworkServerOptions options{.listen = "0.0.0.0:0", .run = "r"};
  const auto open = NetworkServer::start(options, make_server(setting), {});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("127.0.0.1"), std::string::npos);
  options.listen = "nonsense";
  EXPECT_FALSE(NetworkServer::start(options, make_server(setting), {}));
}

// 2 million values in the suite; 50 million with BALLAST_FULL.
TEST(Training, LargeModelsGoThrough) {
  const bool is_full = std::getenv("BALLAST_FULL") != nullptr;
  const TestSetting setting{
      .dim = is_full ? 50'000'000u : 2'000'000u, .worker_count = 1, .eta = 1.0};
  NetworkServer server = start_server(setting);
  Client client = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(client.join());
  Values update(setting.dim);
  for (std::size_t j = 0; j < update.size(); ++j) update[j] = static_cast<float>(j % 1000);
  const auto begin = std::chrono::steady_clock::now();
  const auto pushed = client.push(update);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->verdict, Verdict::kAccepted);
  for (std::size_t j = 0; j < update.size(); ++j) ASSERT_EQ(pushed->next.values[j], -update[j]);
  std::printf("large model: %zu values sent and got back in %.2f s\n", setting.dim,
              seconds.count());
}

}  // namespace
}  // namespace ballast::transport
