#include "ballast/transport/connection_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "ballast/base/check.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kBudget = 1'000;

// A connection over loopback, both ends of it.
class Pair {
 public:
  Pair() {
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    BALLAST_CHECK(bind(listening, raw, size) == 0 && listen(listening, 1) == 0, "can listen");
    getsockname(listening, raw, &size);
    peer_ = socket(AF_INET, SOCK_STREAM, 0);
    const int little = 1 << 14;
    setsockopt(peer_, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
    BALLAST_CHECK(connect(peer_, raw, size) == 0, "can connect");
    ours_ = accept4(listening, raw, &size, SOCK_NONBLOCK);
    port_ = ntohs(address.sin_port);
    close(listening);
  }
  ~Pair() {
    close(peer_);
    close(ours_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int ours() const { return ours_; }
  std::uint16_t port() const { return port_; }  // of the peer

  // The peer sends, and we take it.
  void receive(std::size_t bytes) {
    std::string text(bytes, 'x');
    BALLAST_CHECK(send(peer_, text.data(), bytes, 0) == ssize_t(bytes), "can send");
    BALLAST_CHECK(recv(ours_, text.data(), bytes, MSG_WAITALL) > 0, "can receive");
  }
  // We send until nothing moves any more.
  void fill() {
    const std::string text(1 << 16, 'x');
    for (bool has_moved = true; has_moved; usleep(60'000)) {
      has_moved = false;
      while (send(ours_, text.data(), text.size(), MSG_NOSIGNAL) > 0) has_moved = true;
    }
  }
  // The peer takes some of it.
  void read_some() {
    std::string text(1 << 20, '\0');
    for (int i = 0; i < 8; ++i) recv(peer_, text.data(), text.size(), MSG_DONTWAIT);
    usleep(20'000);  // for the acknowledgement
  }
  bool is_ended() {
    char byte = 0;
    return recv(ours_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0 && errno != EAGAIN;
  }

 private:
  int peer_ = -1;
  int ours_ = -1;
  std::uint16_t port_ = 0;
};

class Guarded : public testing::Test {
 protected:
  Guarded() { guard.watch(pair.ours()); }

  void look_after(milliseconds time, std::uint64_t resident = 0) {
    now += time;
    guard.look(resident, now);
  }
  std::shared_ptr<ConnectionGuard::Connection> connection() {
    return guard.find("127.0.0.1", pair.port());
  }

  ConnectionGuard guard{{.calls_max = 2,
                         .strange_bytes_max = 10'000,
                         .strange_bytes_per_second = 1'000,
                         .unread_bytes_max = 5'000,
                         .memory_bytes_max = kBudget}};
  Pair pair;
  ConnectionGuard::Time now{seconds(1'000'000)};
};

TEST_F(Guarded, ConnectionsAreFoundByTheirAddress) {
  EXPECT_TRUE(connection());
  EXPECT_TRUE(guard.find("::ffff:127.0.0.1", pair.port()));
  EXPECT_FALSE(guard.find("127.0.0.2", pair.port()));
  EXPECT_FALSE(guard.find("nonsense", pair.port()));
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
  guard.leave(*shared);
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
  const Pair other;
  ASSERT_EQ(dup2(other.ours(), pair.ours()), pair.ours());  // closed, and its number given anew
  guard.end(*shared);
  EXPECT_FALSE(pair.is_ended());
  EXPECT_EQ(guard.counts().ended(), 0u);
}

}  // namespace
}  // namespace ballast::transport
