#pragma once
// The two parts of what gRPC calls a peer: "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "ballast/transport/connection_guard.h"

namespace ballast::transport {

// In digits, without the zone that an IPv6 address may name.
inline std::string host_of(const std::string& peer) {
  const std::size_t begin = peer.find(':') + 1;
  std::string host = peer.substr(begin, peer.rfind(':') - begin);
  for (const std::string_view bracket : {"%5B", "%5D", "[", "]"}) {
    if (const auto at = host.find(bracket); at != host.npos) host.erase(at, bracket.size());
  }
  return host.substr(0, host.find('%'));
}

inline std::uint16_t port_of(const std::string& peer) {
  std::uint16_t port = 0;
  std::from_chars(peer.data() + peer.rfind(':') + 1, peer.data() + peer.size(), port);
  return port;
}

inline std::shared_ptr<ConnectionGuard::Connection> connection_of(ConnectionGuard& guard,
                                                                  const std::string& peer) {
  return guard.find(host_of(peer), port_of(peer));
}

}  // namespace ballast::transport
