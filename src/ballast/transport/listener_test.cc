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

int connect_to(std::uint16_t port) {
  const auto address = resolve({.host = "127.0.0.1", .port = std::to_string(port)}).value();
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
