#include "apps/ballast/bench_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace ballast::apps {
namespace {

constexpr int kReadAheadBytes = 64 * 1024;

// Calls move(done, left) until all is done; false if one of the calls fails.
template <typename Move>
bool move_all(std::size_t size, Move move) {
  for (std::size_t done = 0; done < size;) {
    const auto count = move(done, size - done);
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

class TcpLink final : public Link {
 public:
  explicit TcpLink(int descriptor) : descriptor_(descriptor) {}

  bool send_all(std::span<const float> values) override {
    const auto bytes = std::as_bytes(values);
    return move_all(bytes.size(), [&](std::size_t done, std::size_t left) {
      return send(descriptor_, bytes.data() + done, left, MSG_NOSIGNAL);
    });
  }
  bool receive_all(std::span<float> values) override {
    const auto bytes = std::as_writable_bytes(values);
    return move_all(bytes.size(), [&](std::size_t done, std::size_t left) {
      return recv(descriptor_, bytes.data() + done, left, 0);
    });
  }

 private:
  int descriptor_;
};

class TlsLink final : public Link {
 public:
  explicit TlsLink(SSL_CTX* context) : ssl_(SSL_new(context), &SSL_free) {}

  bool shake_hands(int descriptor, End end) {
    if (!ssl_ || SSL_set_fd(ssl_.get(), descriptor) != 1) return false;
    return (end == End::kServer ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) == 1;
  }

  bool send_all(std::span<const float> values) override {
    const auto bytes = std::as_bytes(values);
    return move_all(bytes.size(), [&](std::size_t done, std::size_t left) {
      return SSL_write(ssl_.get(), bytes.data() + done, at_once(left));
    });
  }
  bool receive_all(std::span<float> values) override {
    const auto bytes = std::as_writable_bytes(values);
    return move_all(bytes.size(), [&](std::size_t done, std::size_t left) {
      return SSL_read(ssl_.get(), bytes.data() + done, at_once(left));
    });
  }

 private:
  static int at_once(std::size_t left) {
    return static_cast<int>(std::min(left, std::size_t{1} << 30u));
  }

  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

bool load(SSL_CTX* context, const transport::TlsFiles& files) {
  return SSL_CTX_load_verify_locations(context, files.authority.c_str(), nullptr) == 1 &&
         SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1;
}

}  // namespace

Socket::~Socket() { ::close(descriptor_); }

void Socket::hang_up() const { shutdown(descriptor_, SHUT_RDWR); }

Result<LinkMaker> LinkMaker::make(End end, const std::optional<transport::TlsFiles>& files) {
  LinkMaker maker(end);
  if (!files) return maker;
  maker.context_ = {SSL_CTX_new(end == End::kServer ? TLS_server_method() : TLS_client_method()),
                    &SSL_CTX_free};
  SSL_CTX* const context = maker.context_.get();
  if (context == nullptr || !load(context, *files)) return io_error("cannot prepare TLS");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // Otherwise each record takes two system calls to read, its length and the rest.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAheadBytes);
  return maker;
}

std::unique_ptr<Link> LinkMaker::link(const Socket& socket) const {
  // As gRPC does: the last record of a turn is not to wait until those before are acknowledged.
  const int is_on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &is_on, sizeof(is_on));
  if (!context_) return std::make_unique<TcpLink>(socket.descriptor());
  auto link = std::make_unique<TlsLink>(context_.get());
  if (!link->shake_hands(socket.descriptor(), end_)) return nullptr;
  return link;
}

}  // namespace ballast::apps
