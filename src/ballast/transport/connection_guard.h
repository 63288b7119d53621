#pragma once
// Decides which connections there may be, and ends those that would grow the server past its
// limits.
//
// A connection on which no worker takes part is a stranger's, whatever it is busy with: a
// handshake, a health watch, nothing. Only strangers are limited, in all and per address, and a
// newcomer is never turned away for their sake: the oldest of the address with the most of them
// makes place. So a worker gets in however many others knock, also from the same address, if it
// joins before so many newer ones have come.
//
// gRPC 1.51 holds a peer to the limits
// of HTTP/2 only once that has acknowledged them, and then with messages that a peer need not read;
// here the limits hold from the first byte, whatever the peer acknowledges or reads:
//
// 1. more calls open at a time than a connection may have, or more metadata in one;
// 2. more bytes than it takes to join, on a connection on which nobody has joined;
// 3. bytes that keep coming while what the server has for the peer stays where it is: the peer
//    does not read. Patiently as long as memory is within the budget, at once when it is not.
//
// The third one tells a slow line from a dead one: the kernel counts what the peer acknowledges.
//
// gRPC says of a call only which address and port it came from, not to which of the server's own
// addresses. So that this names one connection, a second one from the same address and port is
// refused while the first lives.
//
// Thread-safety: every function may be called from any thread.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ballast::transport {

struct GuardLimits {
  std::size_t connections_max = 1024;
  std::size_t strangers_max = 768;                // of them
  std::size_t strangers_per_address_max = 256;    // an IPv6 network of 64 bits is one address
  std::chrono::milliseconds idle_max{10'000};     // of a stranger without a call
  int calls_max = 4;                              // at a time
  std::uint64_t strange_bytes_max = 32 * 1024;    // at once, of whom nobody has joined
  std::uint64_t strange_bytes_per_second = 4096;  // and then
  std::uint64_t unread_bytes_max = 64 * 1024;     // received while the peer took nothing
  std::chrono::milliseconds unread_max{5'000};    // for so long, while memory is not short
  std::chrono::milliseconds farewell_max{5'000};  // for what is under way when a worker leaves
  std::uint64_t memory_bytes_max = 0;             // of the process; 0: never short
};

struct GuardCounts {
  std::uint64_t ended_calls = 0;      // by the first rule
  std::uint64_t ended_strange = 0;    // by the second
  std::uint64_t ended_unread = 0;     // by the third
  std::uint64_t ended_models = 0;     // for models that the peer does not take (model_loans.h)
  std::uint64_t ended_denied = 0;     // for a certificate that is no longer good
  std::uint64_t ended_displaced = 0;  // strangers that made place for newer ones
  std::uint64_t ended_idle = 0;       // strangers without a call
  std::uint64_t refused_full = 0;     // connections that found nobody to make place
  std::uint64_t refused_twins = 0;    // connections whose address and port had one already
  std::uint64_t refused_calls = 0;    // of which the connection was not found
  std::uint64_t short_of_memory = 0;  // looks that found it short and nobody to blame

  // For breaking a rule.
  std::uint64_t ended() const noexcept {
    return ended_calls + ended_strange + ended_unread + ended_models + ended_denied;
  }
};

class ConnectionGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // What two connections of one machine have in common.
  using Machine = std::array<std::uint8_t, 8>;

  // A connection that is watched. Shared with the calls on it, which may outlive it.
  class Connection {
    friend class ConnectionGuard;
    int descriptor_ = -1;
    std::uint64_t socket_ = 0;  // the number of the socket behind the descriptor
    std::atomic<int> call_count_ = 0;
    std::atomic<int> joined_count_ = 0;
    std::atomic<bool> is_ended_ = false;
    std::atomic<Time> stranger_since_{};  // accepted, or left by its last worker
    Machine machine_{};
    std::shared_ptr<const std::string> certificate_;  // behind the guard's mutex
    std::optional<Time> denied_since_;                // behind the guard's mutex

    // Of the looks.
    Time seen_{};                       // when it was looked at
    Time joined_until_{};               // the last look that found somebody, and then some
    std::uint64_t received_ = 0;        // so far
    std::uint64_t strange_ = 0;         // received of nobody, less what time has forgiven
    std::uint64_t taken_ = 0;           // what the peer has acknowledged
    Time taken_since_{};                // when that last grew, or there was nothing to take
    std::uint64_t taken_received_ = 0;  // what had been received then
  };

  explicit ConnectionGuard(GuardLimits limits) : limits_(limits) {}

  // Watches a connected socket from now on, until it is closed by whoever owns it. False: there is
  // no room, or its address and port cannot be told or have a live connection already; it must not
  // be used.
  bool watch(int descriptor, Time now);

  // The connection from this address, in digits. None if there is none, or none any more: what is
  // asked for must then be refused.
  std::shared_ptr<Connection> find(const std::string& host, std::uint16_t port);

  // Counts a call that was refused because its connection was not found.
  void count_refused_call() noexcept { ++refused_calls_; }

  // Around every call. A connection with too many of them is ended.
  void begin_call(Connection& connection);
  void end_call(Connection& connection) noexcept { --connection.call_count_; }

  // Around the time that a worker takes part by one of the calls.
  void join(Connection& connection) noexcept { ++connection.joined_count_; }
  void leave(Connection& connection, Time now) noexcept;

  // The certificate under which calls come, once a call has shown it.
  void set_certificate(const std::shared_ptr<Connection>& connection, std::string certificate);

  // Ends the connections whose certificates are not good. A first look lets calls hear why.
  void end_denied(const std::function<bool(const std::string& certificate)>& is_good, Time now);

  // Why somebody else wants a connection ended.
  enum class Ending : std::uint8_t { kCalls, kModels, kDenied };
  void end(Connection& connection, Ending why);

  // To be called often: what comes between two looks is what the limits can be exceeded by.
  //
  // Cost: one system call for each connection.
  void look(std::uint64_t resident_bytes, Time now);

  GuardCounts counts() const noexcept;

 private:
  using Address = std::array<std::uint8_t, 18>;
  enum class Judgement : std::uint8_t { kFine, kStrange, kUnread, kIdle };

  struct Traffic;

  static std::optional<Address> address_of(int descriptor);
  static bool is_alive(const Connection& connection);
  static Machine machine_of(const Address& address);
  static bool cut(Connection& connection);
  bool make_room(const Machine& machine);
  bool displace_stranger(const Machine& machine);
  std::atomic<std::uint64_t>& count_of(Judgement judgement) noexcept;
  Judgement judge(Connection& connection, const Traffic& traffic, bool is_short, Time now) const;

  const GuardLimits limits_;
  std::mutex mutex_;
  std::map<Address, std::shared_ptr<Connection>> connections_;  // behind mutex_
  std::atomic<std::uint64_t> ended_calls_ = 0;
  std::atomic<std::uint64_t> ended_strange_ = 0;
  std::atomic<std::uint64_t> ended_unread_ = 0;
  std::atomic<std::uint64_t> ended_models_ = 0;
  std::atomic<std::uint64_t> ended_denied_ = 0;
  std::atomic<std::uint64_t> ended_displaced_ = 0;
  std::atomic<std::uint64_t> ended_idle_ = 0;
  std::atomic<std::uint64_t> refused_full_ = 0;
  std::atomic<std::uint64_t> refused_twins_ = 0;
  std::atomic<std::uint64_t> refused_calls_ = 0;
  std::atomic<std::uint64_t> short_of_memory_ = 0;
};

}  // namespace ballast::transport
