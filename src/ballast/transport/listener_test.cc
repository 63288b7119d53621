#include "ballast/transport/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

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

// Keeps what it is handed, as gRPC would.
class Holder {
 public:
  ~Holder() { close_all(); }
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

TEST(Listener, ConnectionsAreHandedOn) {
  Holder holder;
  const auto listener = Listener::open({}).value();
  listener->start([&](int descriptor) { holder.take(descriptor); });
  const std::vector<int> own = {connect_to(listener->port()), connect_to(listener->port())};
  EXPECT_TRUE(holder.wait_for(2));
  EXPECT_EQ(listener->counts().accepted, 2u);
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
