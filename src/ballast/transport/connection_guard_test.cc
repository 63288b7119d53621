#include "ballast/transport/connection_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/transport/test_sockets.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kBudget = 1'000;
constexpr ConnectionGuard::Time kStart{seconds(1'000'000)};

// One listener on all addresses, and connections to several of them from one port of one address.
class Twins {
 public:
  Twins() {
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    address_ = address_of(INADDR_ANY, 0);
    BALLAST_CHECK(bind(listening_, raw(address_), sizeof(address_)) == 0, "can bind");
    BALLAST_CHECK(listen(listening_, 4) == 0, "can listen");
    socklen_t size = sizeof(address_);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~Twins() {
    for (const int descriptor : descriptors_) close(descriptor);
    close(listening_);
  }
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;

  // Connects to 127.0.0.`to`, always from the same port, and returns our end.
  int connect_to(std::uint32_t to) {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    setsockopt(peer, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in from = address_of(INADDR_LOOPBACK, port_);
    socklen_t size = sizeof(from);
    BALLAST_CHECK(bind(peer, raw(from), sizeof(from)) == 0, "can bind");
    getsockname(peer, reinterpret_cast<sockaddr*>(&from), &size);
    port_ = ntohs(from.sin_port);
    const sockaddr_in target = address_of(INADDR_LOOPBACK - 1 + to, ntohs(address_.sin_port));
    BALLAST_CHECK(connect(peer, raw(target), sizeof(target)) == 0, "can connect");
    peer_ = peer;
    descriptors_.push_back(peer);
    descriptors_.push_back(accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK));
    return descriptors_.back();
  }

  // Drops the last connection at once, as a crash would.
  void reset_last() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(peer_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    std::erase(descriptors_, peer_);
    close(peer_);
  }
  void send(const std::string& text) {
    BALLAST_CHECK(::send(peer_, text.data(), text.size(), 0) == ssize_t(text.size()), "can send");
  }
  std::uint16_t port() const { return port_; }  // of the peer

 private:
  static sockaddr_in address_of(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(port);
    return address;
  }
  static const sockaddr* raw(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
  }

  int listening_ = -1;
  sockaddr_in address_{};
  std::uint16_t port_ = 0;
  int peer_ = -1;
  std::vector<int> descriptors_;
};

class Guarded : public testing::Test {
 protected:
  Guarded() { EXPECT_TRUE(guard.watch(pair.ours(), kStart)); }

  void look_after(milliseconds time, std::uint64_t resident = 0) {
    now += time;
    guard.look(resident, now);
  }
  std::shared_ptr<ConnectionGuard::Connection> connection() {
    return guard.find("127.0.0.1", pair.port());
  }

  ConnectionGuard guard{{.idle_max = std::chrono::hours(1),
                         .calls_max = 2,
                         .strange_bytes_max = 10'000,
                         .strange_bytes_per_second = 1'000,
                         .unread_bytes_max = 5'000,
                         .memory_bytes_max = kBudget}};
  SocketPair pair;
  ConnectionGuard::Time now = kStart;
};

TEST_F(Guarded, ConnectionsAreFoundByTheirAddress) {
  EXPECT_TRUE(connection());
  EXPECT_TRUE(guard.find("::ffff:127.0.0.1", pair.port()));
  EXPECT_FALSE(guard.find("127.0.0.2", pair.port()));
  EXPECT_FALSE(guard.find("nonsense", pair.port()));
}

// gRPC would give calls of both the same name.
TEST(ConnectionGuard, ASecondConnectionFromTheSamePortDoesNotHideTheFirst) {
  ConnectionGuard guard({.strange_bytes_max = 10'000});
  Twins twins;
  const int first = twins.connect_to(1), second = twins.connect_to(2);
  EXPECT_TRUE(guard.watch(first, kStart));
  const auto watched = guard.find("127.0.0.1", twins.port());
  EXPECT_FALSE(guard.watch(second, kStart));
  EXPECT_EQ(guard.find("127.0.0.1", twins.port()), watched);
  EXPECT_EQ(guard.counts().refused_twins, 1u);
}

TEST(ConnectionGuard, ADeadConnectionMakesPlaceAndTakesWhatItSentAlong) {
  ConnectionGuard guard({.strange_bytes_max = 10'000});
  Twins twins;
  const int first = twins.connect_to(1);
  EXPECT_TRUE(guard.watch(first, kStart));
  twins.send(std::string(5'000, 'x'));
  twins.reset_last();
  const int second = twins.connect_to(2);
  EXPECT_TRUE(guard.watch(second, kStart));
  char byte = 0;
  EXPECT_LE(recv(first, &byte, 1, MSG_DONTWAIT), 0);  // nothing for gRPC to read
  EXPECT_TRUE(guard.find("127.0.0.1", twins.port()));
  EXPECT_EQ(guard.counts().refused_twins, 0u);
}

TEST(ConnectionGuard, WhatIsNotConnectedIsNotWatched) {
  ConnectionGuard guard({});
  const int lonely = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_FALSE(guard.watch(lonely, kStart));
  close(lonely);
}

TEST_F(Guarded, TooManyCallsAtATimeEndAConnection) {
  const auto shared = connection();
  for (int i = 0; i < 10; ++i) {
    guard.begin_call(*shared);
    guard.end_call(*shared);
  }
  guard.begin_call(*shared);
  guard.begin_call(*shared);
  EXPECT_FALSE(pair.is_ended());
  guard.begin_call(*shared);
  guard.begin_call(*shared);
  EXPECT_TRUE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended_calls, 1u);
}

TEST_F(Guarded, StrangersMayNotSendMuchAtOnce) {
  pair.receive(9'000);
  look_after(milliseconds(10));
  EXPECT_FALSE(pair.is_ended());
  pair.receive(2'000);
  look_after(milliseconds(10));
  EXPECT_TRUE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended_strange, 1u);
  EXPECT_FALSE(connection());
}

TEST_F(Guarded, StrangersMaySendALittleForEver) {
  for (int i = 0; i < 50; ++i) {
    pair.receive(900);
    look_after(seconds(1));
  }
  EXPECT_FALSE(pair.is_ended());
}

TEST_F(Guarded, WorkersMaySendAsMuchAsTheyLikeAndForAWhileAfterwards) {
  const auto shared = connection();
  guard.join(*shared);
  pair.receive(100'000);
  look_after(milliseconds(10), kBudget + 1);
  guard.leave(*shared, now);
  pair.receive(100'000);
  look_after(seconds(1), kBudget + 1);
  EXPECT_FALSE(pair.is_ended());
  look_after(seconds(10));
  pair.receive(11'000);
  look_after(milliseconds(10));
  EXPECT_TRUE(pair.is_ended());
}

TEST_F(Guarded, WhenMemoryIsShortStrangersMaySendLess) {
  pair.receive(4'000);
  look_after(milliseconds(10), kBudget);
  EXPECT_FALSE(pair.is_ended());
  look_after(milliseconds(10), kBudget + 1);
  EXPECT_TRUE(pair.is_ended());
}

TEST_F(Guarded, WhoSendsAndDoesNotReadIsEndedAtOnceWhenMemoryIsShort) {
  guard.join(*connection());
  pair.fill();
  look_after(milliseconds(10), kBudget + 1);
  EXPECT_FALSE(pair.is_ended());  // it does not send
  EXPECT_EQ(guard.counts().short_of_memory, 1u);
  pair.receive(6'000);
  look_after(milliseconds(10), kBudget);
  EXPECT_FALSE(pair.is_ended());  // there is memory
  look_after(milliseconds(10), kBudget + 1);
  EXPECT_TRUE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended_unread, 1u);
  EXPECT_EQ(guard.counts().short_of_memory, 1u);
}

TEST_F(Guarded, WhoSendsAndDoesNotReadIsEndedAfterAWhileAnyway) {
  guard.join(*connection());
  pair.fill();
  look_after(milliseconds(10));
  pair.receive(6'000);
  look_after(seconds(4));
  EXPECT_FALSE(pair.is_ended());
  look_after(seconds(2));
  EXPECT_TRUE(pair.is_ended());
}

TEST_F(Guarded, WhoReadsSlowlyIsNotEnded) {
  guard.join(*connection());
  for (int i = 0; i < 5; ++i) {
    pair.fill();
    look_after(seconds(3), kBudget + 1);
    pair.receive(4'000);
    look_after(seconds(3), kBudget + 1);
    pair.read_some();
  }
  EXPECT_FALSE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended(), 0u);
}

TEST_F(Guarded, WhatHasBecomeOfADescriptorIsLeftAlone) {
  const auto shared = connection();
  const SocketPair other;
  ASSERT_EQ(dup2(other.ours(), pair.ours()), pair.ours());  // closed, and its number given anew
  guard.end(*shared, ConnectionGuard::Ending::kCalls);
  EXPECT_FALSE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended(), 0u);
}

// Connections from several addresses of this machine to one guard.
class Crowd : public testing::Test {
 protected:
  SocketPair& knock(const char* from = "127.0.0.1") {
    pairs.push_back(std::make_unique<SocketPair>(from));
    now += milliseconds(1);
    is_taken = guard.watch(pairs.back()->ours(), now);
    return *pairs.back();
  }
  void join(const SocketPair& pair, const char* from = "127.0.0.1") {
    guard.join(*guard.find(from, pair.port()));
  }

  ConnectionGuard guard{{.connections_max = 8,
                         .strangers_max = 6,
                         .strangers_per_address_max = 3,
                         .idle_max = seconds(10)}};
  std::vector<std::unique_ptr<SocketPair>> pairs;
  bool is_taken = false;
  ConnectionGuard::Time now = kStart;
};

TEST_F(Crowd, TheOldestStrangerOfAnAddressMakesPlace) {
  for (int i = 0; i < 10; ++i) {
    knock();
    EXPECT_TRUE(is_taken);
  }
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(pairs[i]->is_ended(), i < 7) << i;
  EXPECT_EQ(guard.counts().ended_displaced, 7u);
  EXPECT_EQ(guard.counts().ended(), 0u);  // nobody broke a rule
}

TEST_F(Crowd, WorkersAreNeverDisplaced) {
  SocketPair& worker = knock();
  join(worker);
  for (int i = 0; i < 10; ++i) knock();
  EXPECT_FALSE(worker.is_ended());
  guard.leave(*guard.find("127.0.0.1", worker.port()), now);
  knock();
  EXPECT_FALSE(worker.is_ended());  // others have been strangers for longer
  for (int i = 0; i < 3; ++i) knock();
  EXPECT_TRUE(worker.is_ended());
}

TEST_F(Crowd, TheMostCrowdedAddressPaysForOthers) {
  SocketPair& lonely = knock("127.0.0.2");
  for (const char* from : {"127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"}) {
    knock(from);
    EXPECT_TRUE(is_taken);
  }
  SocketPair& first = knock("127.0.0.7");
  EXPECT_EQ(guard.counts().ended_displaced, 0u);
  knock("127.0.0.7");  // some address of one has to go, and then that with two
  EXPECT_EQ(guard.counts().ended_displaced, 1u);
  if (!first.is_ended()) {
    knock("127.0.0.8");
    EXPECT_TRUE(first.is_ended());
  }
  (void)lonely;
}

TEST_F(Crowd, WhenWorkersHaveAllConnectionsNobodyMakesPlace) {
  for (int i = 0; i < 8; ++i) join(knock());
  EXPECT_TRUE(is_taken);
  knock();
  EXPECT_FALSE(is_taken);
  EXPECT_EQ(guard.counts().refused_full, 1u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_FALSE(pairs[i]->is_ended());
}

TEST_F(Crowd, IdleStrangersAreEndedAndBusyOnesNot) {
  SocketPair &idle = knock(), &watching = knock(), &working = knock();
  const auto call = guard.find("127.0.0.1", watching.port());
  guard.begin_call(*call);
  join(working);
  guard.look(0, now + seconds(11));
  EXPECT_TRUE(idle.is_ended());
  EXPECT_FALSE(watching.is_ended());
  EXPECT_FALSE(working.is_ended());
  EXPECT_EQ(guard.counts().ended_idle, 1u);
}

TEST_F(Crowd, CertificatesThatAreNoLongerGoodEndConnections) {
  SocketPair &good = knock(), &bad = knock(), &silent = knock();
  guard.set_certificate(guard.find("127.0.0.1", good.port()), "good");
  guard.set_certificate(guard.find("127.0.0.1", bad.port()), "bad");
  const auto is_good = [](const std::string& certificate) { return certificate == "good"; };
  guard.end_denied(is_good, now);
  EXPECT_FALSE(bad.is_ended());  // its calls are being told
  guard.end_denied(is_good, now + seconds(1));
  EXPECT_TRUE(bad.is_ended());
  EXPECT_FALSE(good.is_ended());
  EXPECT_FALSE(silent.is_ended());
  EXPECT_EQ(guard.counts().ended_denied, 1u);
}

}  // namespace
}  // namespace ballast::transport
