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
// Cost: by carry-less products of the processor where it has them 64 bytes wide, about 20 bytes a
// cycle; by its own instruction for this checksum, about 8.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

// The same, and copies the bytes to `out` while they are at hand.
//
// Requires: as many bytes there, none of them among those that are read.
std::uint32_t crc32c_copy(std::span<const std::byte> bytes, std::byte* out,
                          std::uint32_t before = 0) noexcept;

// The slow twin: a table, one byte at a time.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

}  // namespace ballast::wire
