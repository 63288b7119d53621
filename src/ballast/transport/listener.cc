#include "ballast/transport/listener.h"

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

namespace ballast::transport {
namespace {

constexpr int kBacklog = 256;
constexpr std::chrono::milliseconds kBackOff{10};  // when not even the spare could be got back

std::string last_error() { return std::generic_category().message(errno); }

int open_spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
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

// The other half of the descriptors stays for files, epoll and whatever else the process opens.
std::size_t lowered_to_descriptors(std::size_t connections_max) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections_max;
  return std::min<std::size_t>(connections_max, std::max<rlim_t>(limit.rlim_cur / 2, 1));
}

Listener::Listener(ListenerOptions options) : options_(std::move(options)) {}

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
  return {.accepted = accepted_, .refused_descriptors = refused_descriptors_};
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
  const int descriptor = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    if (error == EMFILE || error == ENFILE) drop_for_lack_of_descriptors();
    // A lack of memory passes; everything else is the fault of the one connection.
    if (error == ENOBUFS || error == ENOMEM) std::this_thread::sleep_for(kBackOff);
    return;
  }
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
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

}  // namespace ballast::transport
