#include "ballast/transport/connection_guard.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/transport/socket_number.h"

namespace ballast::transport {
namespace {

using Time = ConnectionGuard::Time;

// TCP_CLOSE, which <linux/tcp.h> does not have; its tcp_info has more fields than that of libc.
constexpr std::uint8_t kClosed = 7;

// What strangers may still send when memory is short.
constexpr std::uint64_t kShortPart = 4;

// IPv4 as the end of an IPv6 address, and the port.
std::array<std::uint8_t, 18> address_of(const in6_addr& host, std::uint16_t port) {
  std::array<std::uint8_t, 18> address{};
  std::memcpy(address.data(), &host, sizeof(host));
  address[16] = static_cast<std::uint8_t>(port >> 8);
  address[17] = static_cast<std::uint8_t>(port & 0xFF);
  return address;
}

in6_addr mapped(const in_addr& host) {
  in6_addr result{};
  result.s6_addr[10] = result.s6_addr[11] = 0xFF;
  std::memcpy(&result.s6_addr[12], &host, sizeof(host));
  return result;
}

std::uint64_t forgiven(std::uint64_t bytes_per_second, Time::duration time) {
  const auto seconds = std::chrono::duration<double>(time).count();
  return static_cast<std::uint64_t>(seconds * static_cast<double>(bytes_per_second));
}

}  // namespace

// What the kernel knows of a connection, in bytes.
struct ConnectionGuard::Traffic {
  std::uint64_t received = 0;
  std::uint64_t taken = 0;    // acknowledged by the peer
  std::uint64_t waiting = 0;  // for the peer to make room

  // None for what is no connection any more.
  static std::optional<Traffic> of(int descriptor) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    return Traffic{.received = info.tcpi_bytes_received,
                   .taken = info.tcpi_bytes_acked,
                   .waiting = info.tcpi_notsent_bytes};
  }
};

std::optional<ConnectionGuard::Address> ConnectionGuard::address_of(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof(address));
    return transport::address_of(address.sin6_addr, ntohs(address.sin6_port));
  }
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof(address));
  return transport::address_of(mapped(address.sin_addr), ntohs(address.sin_port));
}

// Whether anything can still come from the peer.
bool ConnectionGuard::is_alive(const Connection& connection) {
  if (connection.is_ended_ || socket_number(connection.descriptor_) != connection.socket_) {
    return false;
  }
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(connection.descriptor_, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state != kClosed;
}

// IPv4, or the network of an IPv6 address, of which one machine may have them all.
ConnectionGuard::Machine ConnectionGuard::machine_of(const Address& address) {
  in6_addr host{};
  std::memcpy(&host, address.data(), sizeof(host));
  Machine machine{};
  if (IN6_IS_ADDR_V4MAPPED(&host)) {
    std::memcpy(machine.data(), &host.s6_addr[12], sizeof(in_addr));
  } else {
    std::memcpy(machine.data(), &host, machine.size());
  }
  return machine;
}

bool ConnectionGuard::watch(int descriptor, Time now) {
  const std::optional<Address> address = address_of(descriptor);
  if (!address) return false;  // gone already
  auto connection = std::make_shared<Connection>();
  connection->descriptor_ = descriptor;
  connection->socket_ = socket_number(descriptor);
  connection->machine_ = machine_of(*address);
  connection->stranger_since_ = now;
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const auto& entry) {
    return entry.second->descriptor_ == descriptor;  // closed, or it were not given anew
  });
  if (const auto twin = connections_.find(*address); twin != connections_.end()) {
    if (is_alive(*twin->second)) {
      ++refused_twins_;
      return false;
    }
    // A dead one that gRPC has not closed yet may have unread bytes, which go with it.
    cut(*twin->second);
    connections_.erase(twin);
  }
  if (!make_room(connection->machine_)) {
    ++refused_full_;
    return false;
  }
  connections_.emplace(*address, std::move(connection));
  return true;
}

// Requires: mutex_ is held.
bool ConnectionGuard::make_room(const Machine& machine) {
  std::map<Machine, std::size_t> strangers;
  std::size_t count = 0;
  for (const auto& [address, connection] : connections_) {
    if (connection->joined_count_ > 0) continue;
    ++strangers[connection->machine_];
    ++count;
  }
  if (strangers[machine] >= limits_.strangers_per_address_max) return displace_stranger(machine);
  if (count < limits_.strangers_max && connections_.size() < limits_.connections_max) return true;
  const auto most =
      std::ranges::max_element(strangers, {}, [](const auto& entry) { return entry.second; });
  return displace_stranger(most->first);
}

// Ends the machine's oldest; false if it has none. Requires: mutex_ is held.
bool ConnectionGuard::displace_stranger(const Machine& machine) {
  auto oldest = connections_.end();
  for (auto entry = connections_.begin(); entry != connections_.end(); ++entry) {
    const Connection& other = *entry->second;
    if (other.joined_count_ > 0 || other.machine_ != machine) continue;
    const bool is_older = oldest == connections_.end() ||
                          other.stranger_since_.load() < oldest->second->stranger_since_.load();
    if (is_older) oldest = entry;
  }
  if (oldest == connections_.end()) return false;
  if (cut(*oldest->second)) ++ended_displaced_;
  connections_.erase(oldest);
  return true;
}

void ConnectionGuard::leave(Connection& connection, Time now) noexcept {
  connection.stranger_since_ = now;
  --connection.joined_count_;
}

void ConnectionGuard::set_certificate(const std::shared_ptr<Connection>& connection,
                                      std::string certificate) {
  const std::lock_guard lock(mutex_);
  if (connection->certificate_) return;
  connection->certificate_ = std::make_shared<const std::string>(std::move(certificate));
}

void ConnectionGuard::end_denied(const std::function<bool(const std::string&)>& is_good, Time now) {
  std::vector<std::shared_ptr<Connection>> shown;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, connection] : connections_) {
      if (connection->certificate_) shown.push_back(connection);
    }
  }
  // Without the lock: this parses certificates and reads a file.
  for (const auto& connection : shown) {
    const bool is_denied = !is_good(*connection->certificate_);
    const std::lock_guard lock(mutex_);
    if (!is_denied) {
      connection->denied_since_.reset();
    } else if (!connection->denied_since_) {
      connection->denied_since_ = now;
    } else if (*connection->denied_since_ < now) {
      end(*connection, Ending::kDenied);
    }
  }
}

std::shared_ptr<ConnectionGuard::Connection> ConnectionGuard::find(const std::string& host,
                                                                   std::uint16_t port) {
  in6_addr address{};
  in_addr old_address{};
  if (inet_pton(AF_INET, host.c_str(), &old_address) == 1) {
    address = mapped(old_address);
  } else if (inet_pton(AF_INET6, host.c_str(), &address) != 1) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(transport::address_of(address, port));
  return found == connections_.end() ? nullptr : found->second;
}

void ConnectionGuard::begin_call(Connection& connection) {
  if (++connection.call_count_ > limits_.calls_max) end(connection, Ending::kCalls);
}

void ConnectionGuard::end(Connection& connection, Ending why) {
  if (!cut(connection)) return;
  switch (why) {
    case Ending::kCalls:
      ++ended_calls_;
      return;
    case Ending::kModels:
      ++ended_models_;
      return;
    case Ending::kDenied:
      ++ended_denied_;
      return;
  }
}

// Connecting to nowhere resets the connection and drops what was received and not yet read, which
// shutting it down would leave for gRPC to read. The descriptor stays gRPC's to close. If it does
// that between the check and the call, and the number is at once given to a new connection, then
// that one is reset instead, and its peer connects again.
bool ConnectionGuard::cut(Connection& connection) {
  if (connection.is_ended_.exchange(true)) return false;
  if (socket_number(connection.descriptor_) != connection.socket_) return false;
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  return connect(connection.descriptor_, &nowhere, sizeof(nowhere)) == 0;
}

void ConnectionGuard::look(std::uint64_t resident_bytes, Time now) {
  const bool is_short = limits_.memory_bytes_max > 0 && resident_bytes > limits_.memory_bytes_max;
  bool is_anybody_to_blame = false;
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const auto& entry) {
    Connection& connection = *entry.second;
    const std::optional<Traffic> traffic = Traffic::of(connection.descriptor_);
    if (!traffic || connection.is_ended_) return true;
    const Judgement judgement = judge(connection, *traffic, is_short, now);
    if (judgement == Judgement::kFine) return false;
    is_anybody_to_blame = is_anybody_to_blame || judgement != Judgement::kIdle;
    if (cut(connection)) ++count_of(judgement);
    return true;
  });
  if (is_short && !is_anybody_to_blame) ++short_of_memory_;
}

std::atomic<std::uint64_t>& ConnectionGuard::count_of(Judgement judgement) noexcept {
  if (judgement == Judgement::kIdle) return ended_idle_;
  return judgement == Judgement::kStrange ? ended_strange_ : ended_unread_;
}

ConnectionGuard::Judgement ConnectionGuard::judge(Connection& connection, const Traffic& traffic,
                                                  bool is_short, Time now) const {
  // A descriptor that came to stand for something else begins anew, and is not cut anyway.
  const std::uint64_t news = traffic.received - std::min(traffic.received, connection.received_);
  connection.received_ = traffic.received;
  if (connection.joined_count_ > 0) connection.joined_until_ = now + limits_.farewell_max;
  if (now > connection.joined_until_) {
    const std::uint64_t old = connection.strange_;
    const std::uint64_t less =
        forgiven(limits_.strange_bytes_per_second, now - std::exchange(connection.seen_, now));
    connection.strange_ = old - std::min(old, less) + news;
    const std::uint64_t max = limits_.strange_bytes_max / (is_short ? kShortPart : 1);
    if (connection.strange_ > max) return Judgement::kStrange;
    const bool has_call = connection.call_count_ > 0;
    if (!has_call && now - connection.stranger_since_.load() > limits_.idle_max) {
      return Judgement::kIdle;
    }
  }
  if (traffic.waiting == 0 || traffic.taken != connection.taken_) {
    connection.taken_ = traffic.taken;
    connection.taken_since_ = now;
    connection.taken_received_ = traffic.received;
  }
  const bool is_unread = traffic.received - connection.taken_received_ > limits_.unread_bytes_max &&
                         (is_short || now - connection.taken_since_ > limits_.unread_max);
  return is_unread ? Judgement::kUnread : Judgement::kFine;
}

GuardCounts ConnectionGuard::counts() const noexcept {
  return {.ended_calls = ended_calls_,
          .ended_strange = ended_strange_,
          .ended_unread = ended_unread_,
          .ended_models = ended_models_,
          .ended_denied = ended_denied_,
          .ended_displaced = ended_displaced_,
          .ended_idle = ended_idle_,
          .refused_full = refused_full_,
          .refused_twins = refused_twins_,
          .refused_calls = refused_calls_,
          .short_of_memory = short_of_memory_};
}

}  // namespace ballast::transport
