#pragma once
// An accept loop that an untrusted peer cannot stop.
//
// It keeps a spare descriptor: when none is left it closes the spare, takes the connection that
// waits, drops it, and gets the spare back, so that the queue of the operating system drains and
// the loop never spins. Which connections there may be is decided by whoever takes them
// (connection_guard.h).
//
// Thread-safety: the public functions may be called from any thread; `take` runs on the listener's.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ballast/base/error.h"

namespace ballast::transport {

struct ListenerOptions {
  std::string address = "127.0.0.1:0";  // HOST:PORT, [HOST]:PORT for IPv6; port 0: any
  bool is_loopback_only = false;        // refuse to listen on any other address
};

struct ListenerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t refused_descriptors = 0;  // no descriptor was left
};

// How many connections there may be: at most half of what the process may open.
std::size_t lowered_to_descriptors(std::size_t connections_max);

class Listener {
 public:
  // Called with a connected, non-blocking socket, which it owns from then on.
  using Take = std::function<void(int descriptor)>;

  // Listens, without accepting yet. An error if the address is wrong or taken.
  static Result<std::unique_ptr<Listener>> open(const ListenerOptions& options);

  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Requires: not started before.
  void start(Take take);
  void stop();

  std::uint16_t port() const noexcept { return port_; }
  ListenerCounts counts() const noexcept;

 private:
  explicit Listener(ListenerOptions options);
  Status bind_and_listen();
  void run();
  void accept_one();
  void drop_for_lack_of_descriptors();

  ListenerOptions options_;
  int socket_ = -1;
  int wake_ = -1;   // an event that ends the loop
  int spare_ = -1;  // given up for a moment when no other descriptor is left
  std::uint16_t port_ = 0;
  Take take_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> refused_descriptors_ = 0;
  std::mutex stop_mutex_;  // held by whoever ends the thread
  std::thread thread_;
};

}  // namespace ballast::transport
