// Connections that hang on purpose, at every stage a connection goes through. They cost the server
// next to nothing: an honest worker does not notice them.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "ballast/wire/crc32c.h"
#include "tests/network/test_certificates.h"
#include "tests/network/test_http2.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

constexpr int kStages = 6;
constexpr int kByteEveryMs = 20;

// The beginning of TLS: a record of 512 bytes, of which the last never come.
constexpr char kTlsHello[300] = "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03";

int connection_count() { return std::getenv("BALLAST_FULL") != nullptr ? 500 : 200; }

// w0 is honest; the others send half an update each.
TestSetting setting() {
  TestSetting setting{.worker_count = 1 + 500 / kStages + 1};
  setting.network.run = "test-run";
  setting.network.schema_hash = kTestSchema;
  setting.network.limits.strangers_per_address_max = 1024;  // all come from one address here
  return setting;
}

struct Ports {
  std::uint16_t plain = 0;
  std::uint16_t tls = 0;
};

// Opens the connections and keeps them hanging; one thread, without gRPC.
class Loris {
 public:
  explicit Loris(const Ports& ports) : ports_(ports) {
    for (int i = 0; i < connection_count(); ++i) hang(i % kStages, "w" + name_of(i / kStages));
  }

  // One more byte for each of those that send so little.
  void dribble() {
    for (Dribbler& dribbler : dribblers_) {
      if (dribbler.rest.empty()) continue;
      put_bytes(dribbler.socket, dribbler.rest.substr(0, 1));
      dribbler.rest.remove_prefix(1);
    }
  }

  // Which the server has not closed.
  int hanging_count() {
    return static_cast<int>(sockets_.size()) - poll(sockets_.data(), sockets_.size(), 0);
  }

  bool is_complete() const { return is_complete_; }

 private:
  struct Dribbler {
    int socket = -1;
    std::string_view rest;
  };

  static std::string name_of(int number) { return std::to_string(1 + number); }

  void hang(int stage, const std::string& worker) {
    constexpr std::array<std::string_view, 3> kTrickles = {
        "", {kTlsHello, sizeof(kTlsHello)}, kHttp2Preface};
    if (stage < 3) {
      const int socket = connect_to(stage < 2 ? ports_.tls : ports_.plain);
      sockets_.push_back({.fd = socket, .events = POLLRDHUP, .revents = 0});
      dribblers_.push_back({.socket = socket, .rest = kTrickles[std::size_t(stage)]});
      return;
    }
    connections_.push_back(std::make_unique<Http2Connection>(ports_.plain));
    sockets_.push_back({.fd = connections_.back()->socket(), .events = POLLRDHUP, .revents = 0});
    if (stage > 3) connections_.back()->open(Http2Connection::call_fields(worker));
    if (stage > 4) send_half_an_update(*connections_.back());
  }

  void send_half_an_update(Http2Connection& connection) {
    connection.send_message(RawWorker::join_message(setting()).SerializeAsString());
    v1::ServerMessage answer;
    const auto text = connection.read_message();
    if (!text || !answer.ParseFromString(*text) || !answer.has_model()) is_complete_ = false;
    v1::WorkerMessage message;
    message.mutable_update()->set_ticket(answer.model().ticket());
    connection.send_message(message.SerializeAsString());
    const Values half(setting().dim / 2);
    const auto bytes = std::as_bytes(std::span(half));
    to_message({.offset = 0, .checksum = wire::crc32c(bytes), .bytes = bytes},
               *message.mutable_chunk());
    connection.send_message(message.SerializeAsString());
  }

  Ports ports_;
  std::vector<pollfd> sockets_;
  std::vector<Dribbler> dribblers_;
  std::vector<std::unique_ptr<Http2Connection>> connections_;
  bool is_complete_ = true;
};

// In a process of its own: hangs on, says so, and lets go when told.
[[noreturn]] void hang_on(int orders, int report) {
  Ports ports;
  if (read(orders, &ports, sizeof(ports)) != sizeof(ports)) _exit(1);
  Loris loris(ports);
  const char ready = loris.is_complete() ? 'y' : 'n';
  if (write(report, &ready, 1) != 1) _exit(2);
  pollfd order{.fd = orders, .events = POLLIN, .revents = 0};
  while (poll(&order, 1, kByteEveryMs) == 0) loris.dribble();
  const int hanging = loris.hanging_count();
  _exit(write(report, &hanging, sizeof(hanging)) == sizeof(hanging) ? 0 : 3);
}

// Seconds until an honest worker has joined and an update of it is in.
double serve_honest(const NetworkServer& server, const std::optional<TlsFiles>& files) {
  const auto begin = std::chrono::steady_clock::now();
  ClientOptions options = client_options(server, setting(), "w0");
  options.tls = files;
  Client client = Client::make(options).value();
  if (!client.join()) std::exit(20);
  const auto pushed = client.push(Values(setting().dim));
  if (!pushed || pushed->verdict != server::Verdict::kAccepted) std::exit(21);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Runs in a process of its own; exits with 0 if the honest worker was served in time.
[[noreturn]] void survive_lorises() {
  int orders[2] = {}, reports[2] = {};
  if (pipe(orders) != 0 || pipe(reports) != 0) std::exit(10);
  const pid_t attacker = fork();
  if (attacker == 0) hang_on(orders[0], reports[1]);

  auto authority = std::make_unique<TestAuthority>();
  NetworkServerOptions with_tls = setting().network;
  with_tls.tls = authority->issue("server");
  with_tls.identify = common_name;
  const TlsFiles files = authority->issue("w0");
  NetworkServer plain = NetworkServer::start(setting().network, make_server(setting()), {}).value();
  NetworkServer tls = NetworkServer::start(with_tls, make_server(setting()), {}).value();
  const Ports ports{.plain = plain.port(), .tls = tls.port()};
  if (write(orders[1], &ports, sizeof(ports)) != sizeof(ports)) std::exit(11);
  char ready = 'n';
  if (read(reports[0], &ready, 1) != 1 || ready != 'y') std::exit(12);

  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // for some of the bytes

  std::array<double, 4> seconds{};
  seconds[0] = serve_honest(plain, std::nullopt);
  seconds[1] = serve_honest(tls, files);
  int hanging = 0;
  if (write(orders[1], "x", 1) != 1) std::exit(13);
  if (read(reports[0], &hanging, sizeof(hanging)) != sizeof(hanging)) std::exit(13);
  int status = 0;
  if (waitpid(attacker, &status, 0) != attacker || status != 0) std::exit(14);
  seconds[2] = serve_honest(plain, std::nullopt);
  seconds[3] = serve_honest(tls, files);
  authority.reset();

  std::printf(
      "slow loris: %d connections hang; an honest worker is served in %.3f s (%.3f s with TLS) "
      "meanwhile and in %.3f s (%.3f s) afterwards\n",
      hanging, seconds[0], seconds[1], seconds[2], seconds[3]);
  std::fflush(stdout);
  if (hanging != connection_count()) std::exit(22);
  if (std::ranges::any_of(seconds, [](double time) { return time > 1.0; })) std::exit(23);
  std::_Exit(0);
}

TEST(SlowLoris, HundredsOfHangingConnectionsDoNotKeepAnHonestWorkerWaiting) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a fresh process without gRPC's threads
  EXPECT_EXIT(survive_lorises(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ballast::transport
