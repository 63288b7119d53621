#pragma once
// Private to transport/: tells whether a descriptor that somebody else closes is still the same
// socket.

#include <cstdint>

namespace ballast::transport {

// The number of the socket behind a descriptor; 0 for a descriptor that is closed, or no socket.
std::uint64_t socket_number(int descriptor) noexcept;

}  // namespace ballast::transport
