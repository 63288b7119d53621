#pragma once
// Private to crc32c: the ways that depend on the processor. Each gives the same checksum, and
// copies the bytes to `out` on the way unless that is null.
//
// Thread-safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::wire {

inline constexpr std::uint32_t kPolynomial = 0x82F6'3B78;  // bits reversed

#if defined(__x86_64__)

bool has_crc_instruction() noexcept;
std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::byte* out,
                                    std::uint32_t before) noexcept;

bool has_wide_products() noexcept;
std::uint32_t crc32c_by_products(std::span<const std::byte> bytes, std::byte* out,
                                 std::uint32_t before) noexcept;

#endif

}  // namespace ballast::wire
