#pragma once
// HOST:PORT, as a listener and a client are given it.

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::transport {

struct Endpoint {
  std::string host;
  std::string port;
};

// "127.0.0.1:7000", "[::1]:7000", "localhost:7000".
Result<Endpoint> parse_endpoint(std::string_view text);

// An address of the operating system.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool is_loopback() const noexcept;
};

// The first address that the name stands for.
Result<SocketAddress> resolve(const Endpoint& endpoint);

}  // namespace ballast::transport
