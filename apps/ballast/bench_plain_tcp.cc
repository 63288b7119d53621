#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <span>
#include <string>
#include <thread>
#include <vector>

#include "apps/ballast/bench_measurement.h"
#include "apps/ballast/bench_serve.h"
#include "ballast/transport/endpoint.h"

namespace ballast::apps {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }
  void hang_up() const { shutdown(descriptor_, SHUT_RDWR); }

  bool send_all(std::span<const float> values) const {
    return move_all(std::as_bytes(values).size(), [&](std::size_t done, std::size_t left) {
      return send(descriptor_, std::as_bytes(values).data() + done, left, MSG_NOSIGNAL);
    });
  }
  bool receive_all(std::span<float> values) const {
    return move_all(values.size_bytes(), [&](std::size_t done, std::size_t left) {
      return recv(descriptor_, std::as_writable_bytes(values).data() + done, left, 0);
    });
  }

 private:
  template <typename Move>
  static bool move_all(std::size_t size, Move move) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = move(done, size - done);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  int descriptor_;
};

// Answers every connection on a thread of its own.
class PlainServer {
 public:
  explicit PlainServer(std::size_t dim) : dim_(dim), listener_(socket(AF_INET, SOCK_STREAM, 0)) {}

  Result<std::uint16_t> start(std::size_t connections) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (bind(listener_.descriptor(), raw, size) != 0 ||
        listen(listener_.descriptor(), static_cast<int>(connections)) != 0 ||
        getsockname(listener_.descriptor(), raw, &size) != 0) {
      return io_error("cannot listen on loopback");
    }
    for (std::size_t i = 0; i < connections; ++i) threads_.emplace_back([this] { answer(); });
    return ntohs(address.sin_port);
  }

  void stop() {
    listener_.hang_up();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void answer() {
    const Socket peer(accept(listener_.descriptor(), nullptr, nullptr));
    std::vector<float> values(dim_);
    while (peer.receive_all(values) && peer.send_all(values)) continue;
  }

  std::size_t dim_;
  Socket listener_;
  std::vector<std::thread> threads_;
};

Status keep_copying(std::size_t dim, std::uint16_t port, Floor& floor) {
  BALLAST_TRY(const auto address,
              transport::resolve({.host = "127.0.0.1", .port = std::to_string(port)}));
  const Socket peer(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(peer.descriptor(), reinterpret_cast<const sockaddr*>(&address.storage),
              address.size) != 0) {
    return io_error("cannot connect on loopback");
  }
  const std::vector<float> update(dim, 1e-3f);
  std::vector<float> model(dim);
  for (bool is_first = true; !floor.stop; is_first = false) {
    if (!peer.send_all(update) || !peer.receive_all(model)) return io_error("a connection broke");
    floor.note_update(is_first);
  }
  return {};
}

}  // namespace

Result<ServeBenchResult> bench_plain_tcp(const ServeBenchOptions& options) {
  PlainServer server(options.dim);
  BALLAST_TRY(const std::uint16_t port, server.start(options.workers));
  Measurement measurement(
      options, [&](std::size_t, Floor& floor) { return keep_copying(options.dim, port, floor); });
  return measurement.run([&] { server.stop(); });
}

}  // namespace ballast::apps
