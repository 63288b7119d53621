#pragma once
// An accept loop that an untrusted peer cannot stop.
//
// It keeps a spare descriptor: when none is left it closes the spare, takes the connection that
// waits, drops it, and gets the spare back, so that the queue of the operating system drains and
// the loop never spins. It also caps connections, in all and per address, and keeps a quarter of
// them free of strangers, so that a worker that lost its connection finds one however many others
// knock. None is ever closed for the sake of another. A connection is handed on and closed by
// somebody else, so the loop recognises a closed one by its descriptor no longer being the socket
// it was.
//
// Thread-safety: the public functions may be called from any thread; `take` runs on the listener's.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::transport {

struct ListenerOptions {
  std::string address = "127.0.0.1:0";            // HOST:PORT, [HOST]:PORT for IPv6; port 0: any
  std::size_t connections_max = 1024;             // lowered to half of what the process may open
  std::size_t connections_per_address_max = 256;  // an IPv6 network of 64 bits is one address
  bool is_loopback_only = false;                  // refuse to listen on any other address
};

struct ListenerCounts {
  std::uint64_t accepted = 0;
  std::uint64_t refused_full = 0;         // too many connections
  std::uint64_t refused_address = 0;      // too many of one address
  std::uint64_t refused_descriptors = 0;  // no descriptor was left
};

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

  // Connections from this address, in digits, are no strangers' from now on: somebody has proved
  // there who he is. Does nothing with what is not an address, and once very many are known.
  void trust(const std::string& host);

  std::uint16_t port() const noexcept { return port_; }
  ListenerCounts counts() const noexcept;

 private:
  // What two connections of one machine have in common.
  using Address = std::array<std::uint8_t, 8>;
  struct Connection {
    int descriptor = -1;
    std::uint64_t socket = 0;  // the number of the socket behind the descriptor
    Address address{};
  };

  explicit Listener(ListenerOptions options);
  Status bind_and_listen();
  void run();
  void accept_one();
  void drop_for_lack_of_descriptors();
  bool has_room_for(const Address& address);
  bool is_full_for(const Address& address);
  void forget_closed();

  ListenerOptions options_;
  int socket_ = -1;
  int wake_ = -1;   // an event that ends the loop
  int spare_ = -1;  // given up for a moment when no other descriptor is left
  std::uint16_t port_ = 0;
  Take take_;
  std::vector<Connection> connections_;  // the listener thread's own
  std::mutex mutex_;
  std::set<Address> trusted_;  // behind mutex_
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> refused_full_ = 0;
  std::atomic<std::uint64_t> refused_address_ = 0;
  std::atomic<std::uint64_t> refused_descriptors_ = 0;
  std::mutex stop_mutex_;  // held by whoever ends the thread
  std::thread thread_;
};

}  // namespace ballast::transport
