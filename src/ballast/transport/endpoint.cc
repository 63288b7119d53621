#include "ballast/transport/endpoint.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace ballast::transport {

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto wrong = [&] {
    return invalid_argument(
        fmt::format("\"{}\" is no address; write HOST:PORT, or [HOST]:PORT for IPv6", text));
  };
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  std::uint16_t number = 0;
  const auto end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, number);
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != end) return wrong();
  return Endpoint{.host = std::string(host), .port = std::string(port)};
}

Result<SocketAddress> resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (code != 0) {
    return not_found(fmt::format("cannot resolve {}: {}", endpoint.host, gai_strerror(code)));
  }
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

bool SocketAddress::is_loopback() const noexcept {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof(address));
    return ntohl(address.sin_addr.s_addr) >> 24 == 127;
  }
  if (storage.ss_family != AF_INET6) return false;
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof(address));
  return std::memcmp(&address.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback)) == 0;
}

}  // namespace ballast::transport
