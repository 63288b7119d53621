#pragma once
// CRC-32C (Castagnoli): the checksum of a chunk.
//
// It finds broken memory and broken code, not forgeries; against those there is TLS.
//
// Thread-safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::wire {

// Cost: by the processor's own instruction where it has one, about 8 bytes a cycle.
std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

// The slow twin: a table, one byte at a time.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes) noexcept;

}  // namespace ballast::wire
