#include "ballast/transport/listener.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "ballast/transport/endpoint.h"

namespace ballast::transport {
namespace {

// All of 127.0.0.0/8 is this machine, so a connection may come from any address of it.
int connect_to(std::uint16_t port, const std::string& from = "127.0.0.1") {
  const auto address = resolve({.host = "127.0.0.1", .port = std::to_string(port)}).value();
  const auto source = resolve({.host = from, .port = "0"}).value();
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&source.storage), source.size), 0);
  EXPECT_EQ(connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size),
            0);
  return descriptor;
}

// Whether the other side has closed the connection, within two seconds.
bool is_closed(int descriptor) {
  pollfd event{.fd = descriptor, .events = POLLIN, .revents = 0};
  if (poll(&event, 1, 2000) <= 0) return false;
  char byte = 0;
  return recv(descriptor, &byte, 1, MSG_DONTWAIT) <= 0;
}

// Keeps what it is handed, as gRPC would.
class Keeper {
 public:
  ~Keeper() { close_all(); }
  void take(int descriptor) {
    const std::lock_guard lock(mutex_);
    taken_.push_back(descriptor);
  }
  void close_all() {
    const std::lock_guard lock(mutex_);
    for (const int descriptor : taken_) close(descriptor);
    taken_.clear();
  }
  bool wait_for(std::size_t count) {
    for (int i = 0; i < 200; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (taken_.size() >= count) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<int> taken_;
};

TEST(Listener, ConnectionsAreCappedAndRoomComesBackWhenTheyClose) {
  Keeper keeper;
  const auto listener = Listener::open({.connections_max = 3}).value();
  listener->start([&](int descriptor) { keeper.take(descriptor); });
  std::vector<int> own;
  for (int i = 0; i < 3; ++i) own.push_back(connect_to(listener->port()));
  ASSERT_TRUE(keeper.wait_for(3));
  own.push_back(connect_to(listener->port()));
  EXPECT_TRUE(is_closed(own.back()));
  EXPECT_EQ(listener->counts().refused_full, 1u);

  keeper.close_all();
  own.push_back(connect_to(listener->port()));
  EXPECT_TRUE(keeper.wait_for(1));
  EXPECT_EQ(listener->counts().accepted, 4u);
  for (const int descriptor : own) close(descriptor);
}

TEST(Listener, OneAddressCannotTakeAllConnections) {
  Keeper keeper;
  const auto listener =
      Listener::open({.connections_max = 10, .connections_per_address_max = 2}).value();
  listener->start([&](int descriptor) { keeper.take(descriptor); });
  std::vector<int> own;
  for (int i = 0; i < 2; ++i) own.push_back(connect_to(listener->port()));
  ASSERT_TRUE(keeper.wait_for(2));
  own.push_back(connect_to(listener->port()));
  EXPECT_TRUE(is_closed(own.back()));
  EXPECT_EQ(listener->counts().refused_address, 1u);
  for (const int descriptor : own) close(descriptor);
}

TEST(Listener, StrangersLeaveAQuarterOfTheConnectionsFree) {
  Keeper keeper;
  const auto listener = Listener::open({.connections_max = 8}).value();
  listener->start([&](int descriptor) { keeper.take(descriptor); });
  listener->trust("127.0.0.2");
  listener->trust("nonsense");
  std::vector<int> own;
  for (int i = 0; i < 6; ++i) own.push_back(connect_to(listener->port(), "127.0.0.3"));
  ASSERT_TRUE(keeper.wait_for(6));
  own.push_back(connect_to(listener->port(), "127.0.0.3"));
  EXPECT_TRUE(is_closed(own.back()));
  own.push_back(connect_to(listener->port(), "127.0.0.4"));
  EXPECT_TRUE(is_closed(own.back()));

  own.push_back(connect_to(listener->port(), "127.0.0.2"));
  ASSERT_TRUE(keeper.wait_for(7));
  listener->trust("127.0.0.3");  // its six count as friends' now
  own.push_back(connect_to(listener->port(), "127.0.0.4"));
  ASSERT_TRUE(keeper.wait_for(8));
  own.push_back(connect_to(listener->port(), "127.0.0.2"));
  EXPECT_TRUE(is_closed(own.back()));
  EXPECT_EQ(listener->counts().refused_full, 3u);
  for (const int descriptor : own) close(descriptor);
}

// A socket for both families sees IPv4 addresses inside IPv6 ones.
TEST(Listener, AddressesOfTheOtherFamilyAreToldApart) {
  Keeper keeper;
  const auto listener = Listener::open({.address = "[::]:0", .connections_per_address_max = 1});
  if (!listener) GTEST_SKIP() << "no IPv6 here";
  (*listener)->start([&](int descriptor) { keeper.take(descriptor); });
  const std::vector<int> own = {connect_to((*listener)->port(), "127.0.0.2"),
                                connect_to((*listener)->port(), "127.0.0.3")};
  EXPECT_TRUE(keeper.wait_for(2));
  for (const int descriptor : own) close(descriptor);
}

TEST(Listener, BadAddressesAreRefused) {
  EXPECT_FALSE(Listener::open({.address = "nonsense"}));
  const auto open = Listener::open({.address = "0.0.0.0:0", .is_loopback_only = true});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("reached from outside"), std::string::npos);
  const auto first = Listener::open({}).value();
  const auto second = Listener::open({.address = "127.0.0.1:" + std::to_string(first->port())});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("cannot listen"), std::string::npos);
}

}  // namespace
}  // namespace ballast::transport
