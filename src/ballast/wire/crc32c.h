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

// Of the bytes, or, given the checksum of what stands before them, of both together.
//
// Cost: by the processor's own instruction where it has one, about 8 bytes a cycle.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

// The slow twin: a table, one byte at a time.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

}  // namespace ballast::wire
