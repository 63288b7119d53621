#include "ballast/transport/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/transport/endpoint.h"
#include "ballast/transport/socket_number.h"

namespace ballast::transport {
namespace {

constexpr int kBacklog = 256;
constexpr std::size_t kReservedPart = 4;  // every fourth connection is not for strangers
constexpr std::size_t kTrustedMax = 4096;
constexpr std::chrono::milliseconds kBackOff{10};  // when not even the spare could be got back

std::string last_error() { return std::generic_category().message(errno); }

int open_spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// The other half of the descriptors stays for files, epoll and whatever else the process opens.
std::size_t lowered_to_descriptors(std::size_t connections_max) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections_max;
  return std::min<std::size_t>(connections_max, std::max<rlim_t>(limit.rlim_cur / 2, 1));
}

using Machine = std::array<std::uint8_t, 8>;

Machine machine_of(const in_addr& address) {
  Machine machine{};
  std::memcpy(machine.data(), &address, sizeof(address));
  return machine;
}

Machine machine_of(const in6_addr& address) {
  Machine machine{};
  // A socket for both families shows IPv4 as the end of an IPv6 address.
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::memcpy(machine.data(), &address.s6_addr[12], sizeof(in_addr));
  } else {
    std::memcpy(machine.data(), &address, machine.size());
  }
  return machine;
}

Machine machine_of(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof(address));
    return machine_of(address.sin_addr);
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof(address));
    return machine_of(address.sin6_addr);
  }
  return {};
}

std::uint16_t port_of(int descriptor) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return 0;
  }
  // The port has the same place in both families.
  sockaddr_in either{};
  std::memcpy(&either, &address.storage, sizeof(either));
  return ntohs(either.sin_port);
}

}  // namespace

Listener::Listener(ListenerOptions options) : options_(std::move(options)) {
  options_.connections_max = lowered_to_descriptors(options_.connections_max);
}

Result<std::unique_ptr<Listener>> Listener::open(const ListenerOptions& options) {
  std::unique_ptr<Listener> listener(new Listener(options));
  BALLAST_TRY_STATUS(listener->bind_and_listen());
  return listener;
}

Status Listener::bind_and_listen() {
  BALLAST_TRY(const Endpoint endpoint, parse_endpoint(options_.address));
  BALLAST_TRY(const SocketAddress address, resolve(endpoint));
  if (options_.is_loopback_only && !address.is_loopback()) {
    return invalid_argument(
        fmt::format("{} can be reached from outside; without certificates "
                    "listen on 127.0.0.1 or ::1 only",
                    options_.address));
  }
  socket_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake_ = eventfd(0, EFD_CLOEXEC);
  spare_ = open_spare();
  if (socket_ < 0 || wake_ < 0 || spare_ < 0) {
    return io_error(fmt::format("cannot open a socket: {}", last_error()));
  }
  const int yes = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      listen(socket_, kBacklog) != 0) {
    return io_error(fmt::format("cannot listen on {}: {}", options_.address, last_error()));
  }
  port_ = port_of(socket_);
  return {};
}

Listener::~Listener() {
  stop();
  close_if_open(socket_);
  close_if_open(wake_);
  close_if_open(spare_);
}

void Listener::start(Take take) {
  BALLAST_CHECK(!thread_.joinable(), "a listener starts once");
  take_ = std::move(take);
  thread_ = std::thread([this] { run(); });
}

void Listener::stop() {
  const std::lock_guard lock(stop_mutex_);
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  // An eventfd takes eight bytes or is broken beyond help.
  BALLAST_CHECK(write(wake_, &one, sizeof(one)) == sizeof(one), "the event can be signalled");
  thread_.join();
  // Nobody shall connect to a socket from which nothing is taken any more.
  close_if_open(socket_);
}

ListenerCounts Listener::counts() const noexcept {
  return {.accepted = accepted_,
          .refused_full = refused_full_,
          .refused_address = refused_address_,
          .refused_descriptors = refused_descriptors_};
}

void Listener::run() {
  std::array<pollfd, 2> events = {pollfd{.fd = socket_, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_, .events = POLLIN, .revents = 0}};
  while (true) {
    if (poll(events.data(), events.size(), -1) < 0) continue;
    if (events[1].revents != 0) return;
    if (events[0].revents != 0) accept_one();
  }
}

void Listener::accept_one() {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  const int descriptor =
      accept4(socket_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE) drop_for_lack_of_descriptors();
    // A lack of memory passes; everything else is the fault of the one connection.
    if (error == ENOBUFS || error == ENOMEM) std::this_thread::sleep_for(kBackOff);
    return;
  }
  const Address address = machine_of(peer);
  if (!has_room_for(address)) {
    close(descriptor);
    return;
  }
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  connections_.push_back(
      {.descriptor = descriptor, .socket = socket_number(descriptor), .address = address});
  ++accepted_;
  take_(descriptor);
}

void Listener::drop_for_lack_of_descriptors() {
  ++refused_descriptors_;
  close_if_open(spare_);
  int descriptor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  close_if_open(descriptor);
  spare_ = open_spare();
  if (spare_ < 0) std::this_thread::sleep_for(kBackOff);
}

bool Listener::has_room_for(const Address& address) {
  forget_closed();
  if (is_full_for(address)) {
    ++refused_full_;
    return false;
  }
  const auto same = std::ranges::count(connections_, address, &Connection::address);
  if (static_cast<std::size_t>(same) >= options_.connections_per_address_max) {
    ++refused_address_;
    return false;
  }
  return true;
}

bool Listener::is_full_for(const Address& address) {
  const std::size_t max = options_.connections_max;
  if (connections_.size() >= max) return true;
  const std::lock_guard lock(mutex_);
  const auto is_strange = [&](const Address& other) { return !trusted_.contains(other); };
  if (!is_strange(address)) return false;
  const auto strangers = std::ranges::count_if(connections_, is_strange, &Connection::address);
  return static_cast<std::size_t>(strangers) >= max - max / kReservedPart;
}

void Listener::trust(const std::string& host) {
  Address address{};
  in_addr old_address{};
  in6_addr new_address{};
  if (inet_pton(AF_INET, host.c_str(), &old_address) == 1) {
    address = machine_of(old_address);
  } else if (inet_pton(AF_INET6, host.c_str(), &new_address) == 1) {
    address = machine_of(new_address);
  } else {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (trusted_.size() < kTrustedMax) trusted_.insert(address);
}

void Listener::forget_closed() {
  std::erase_if(connections_, [](const Connection& connection) {
    return socket_number(connection.descriptor) != connection.socket;
  });
}

}  // namespace ballast::transport
