#pragma once
// Private to `ballast bench serve`: one connection of a plain copy, with and without TLS.

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <span>

#include "ballast/base/error.h"
#include "ballast/transport/server.h"

namespace ballast::apps {

// A TCP socket that is closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }
  void hang_up() const;

 private:
  int descriptor_;
};

// Sends and receives all of the values or tells that it cannot.
class Link {
 public:
  virtual ~Link() = default;
  virtual bool send_all(std::span<const float> values) = 0;
  virtual bool receive_all(std::span<float> values) = 0;
};

// Whose end of a connection it is.
enum class End : bool { kServer, kWorker };

// Makes links of sockets, all of one end.
class LinkMaker {
 public:
  // Without files: plain TCP. With: mutual TLS by the OpenSSL that gRPC uses, and with what both
  // ends agree on by themselves, which is what gRPC does.
  static Result<LinkMaker> make(End end, const std::optional<transport::TlsFiles>& files);

  // The link, or null if the two ends cannot agree. The socket outlives it.
  std::unique_ptr<Link> link(const Socket& socket) const;

 private:
  explicit LinkMaker(End end) : end_(end) {}

  End end_;
  std::shared_ptr<SSL_CTX> context_;  // null: plain
};

}  // namespace ballast::apps
