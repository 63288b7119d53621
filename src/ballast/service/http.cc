#include "ballast/service/http.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "ballast/transport/endpoint.h"

namespace ballast::service {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTimeMax{2'000};  // of a connection
constexpr milliseconds kStopWait{100};   // until the server notices that it is to end
constexpr std::size_t kRequestBytesMax = 4096;
constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20;
constexpr int kBacklog = 16;

class Socket {
 public:
  explicit Socket(int number = -1) noexcept : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  bool is_open() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

tl::unexpected<Error> failed(std::string_view endpoint, std::string_view what) {
  return io_error(fmt::format("{}: {}: {}", endpoint, what, std::strerror(errno)));
}

// Whether the socket is ready before the deadline.
bool is_ready(const Socket& socket, short events, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  pollfd waiting{.fd = socket.get(), .events = events, .revents = 0};
  return ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) > 0;
}

bool send_all(const Socket& socket, std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    if (!is_ready(socket, POLLOUT, deadline)) return false;
    const ssize_t sent =
        ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Reads until the text is enough, the other side has said all, or the limit or the deadline is
// reached. True in the first two cases.
template <typename IsEnough>
bool receive(const Socket& socket, std::string& text, std::size_t bytes_max,
             Clock::time_point deadline, IsEnough is_enough) {
  char buffer[4096];
  while (!is_enough(text)) {
    if (text.size() >= bytes_max || !is_ready(socket, POLLIN, deadline)) return false;
    const std::size_t room = std::min(sizeof(buffer), bytes_max - text.size());
    const ssize_t count = ::recv(socket.get(), buffer, room, MSG_DONTWAIT);
    if (count < 0) return false;
    if (count == 0) return true;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

// The path of "GET /path HTTP/1.1", without what stands behind a question mark.
std::optional<std::string_view> path_of(std::string_view request) {
  if (!request.starts_with("GET /")) return std::nullopt;
  request.remove_prefix(4);
  return request.substr(0, request.find_first_of(" ?\r\n"));
}

std::string_view reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Request";
  }
}

std::string to_text(const HttpAnswer& answer) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\n\r\n{}",
      answer.code, reason(answer.code), answer.type, answer.body.size(), answer.body);
}

class Body final : public HttpServer {
 public:
  Body(Socket socket, std::uint16_t port, HttpHandler handler)
      : socket_(std::move(socket)), port_(port), handler_(std::move(handler)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Body() override {
    is_stopping_ = true;
    thread_.join();
  }
  std::uint16_t port() const noexcept override { return port_; }

 private:
  void run() {
    while (!is_stopping_) {
      if (!is_ready(socket_, POLLIN, Clock::now() + kStopWait)) continue;
      const Socket peer(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (peer.is_open()) {
        serve(peer);
      } else {
        std::this_thread::sleep_for(kStopWait);  // out of descriptors, most likely
      }
    }
  }

  void serve(const Socket& peer) const {
    const auto deadline = Clock::now() + kTimeMax;
    std::string request;
    const auto has_line = [](const std::string& text) {
      return text.find("\r\n\r\n") != std::string::npos;
    };
    if (!receive(peer, request, kRequestBytesMax, deadline, has_line)) return;
    const auto path = path_of(request);
    const HttpAnswer answer = path ? handler_(*path) : HttpAnswer{.code = 400, .body = "GET\n"};
    send_all(peer, to_text(answer), deadline);
    ::shutdown(peer.get(), SHUT_WR);
  }

  Socket socket_;
  std::uint16_t port_;
  HttpHandler handler_;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

std::uint16_t port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

const sockaddr* pointer(const transport::SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(std::string_view listen,
                                                      HttpHandler handler) {
  BALLAST_TRY(const transport::Endpoint endpoint, transport::parse_endpoint(listen));
  BALLAST_TRY(const transport::SocketAddress address, transport::resolve(endpoint));
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return failed(listen, "cannot make a socket");
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(socket.get(), pointer(address), address.size) != 0) {
    return failed(listen, "cannot listen there");
  }
  if (::listen(socket.get(), kBacklog) != 0) return failed(listen, "cannot listen there");
  const std::uint16_t port = port_of(socket);
  return std::make_unique<Body>(std::move(socket), port, std::move(handler));
}

Result<std::string> http_get(std::string_view endpoint, std::string_view path) {
  const auto deadline = Clock::now() + kTimeMax;
  BALLAST_TRY(const transport::Endpoint parsed, transport::parse_endpoint(endpoint));
  BALLAST_TRY(const transport::SocketAddress address, transport::resolve(parsed));
  Socket socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failed(endpoint, "cannot make a socket");
  if (::connect(socket.get(), pointer(address), address.size) != 0 && errno != EINPROGRESS) {
    return failed(endpoint, "cannot connect");
  }
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path, endpoint);
  std::string text;
  const auto never = [](const std::string&) { return false; };
  if (!send_all(socket, request, deadline) ||
      !receive(socket, text, kAnswerBytesMax, deadline, never)) {
    return io_error(
        fmt::format("{} does not answer; is the server running with --http?", endpoint));
  }
  const std::size_t head_end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 200 ") || head_end == std::string::npos) {
    return io_error(fmt::format("{}{} answers '{}'", endpoint, path, text.substr(0, 40)));
  }
  return text.substr(head_end + 4);
}

}  // namespace ballast::service
