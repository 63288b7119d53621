#pragma once
// What a message may be at most. Both ends hold to these, whatever the other one says.

#include <cstddef>
#include <cstdint>

namespace ballast::wire {

// Raised when an old peer would misunderstand a new one; a server refuses any other.
inline constexpr std::uint32_t kProtocolVersion = 1;

// Encoded values in one chunk. A stalled or lying sender can make nobody hold more than this.
inline constexpr std::size_t kChunkBytesMax = std::size_t{1} << 20;

// What is sent in one: half of a core's second-level cache, so that what was summed is still there
// when the kernel copies it, and what the kernel has copied when it is summed.
inline constexpr std::size_t kChunkBytes = kChunkBytesMax / 2;

// A message is one chunk and a few small fields around it.
inline constexpr std::size_t kMessageBytesMax = kChunkBytesMax + 4096;

// Values of a model or an update, statistics included: 16 GiB of floats.
inline constexpr std::uint64_t kValueCountMax = std::uint64_t{1} << 32;

// Characters of a worker's name.
inline constexpr std::size_t kNameLengthMax = 64;

}  // namespace ballast::wire
