#pragma once
// Private to records/: CRC-32C (Castagnoli), the checksum inside event files.

#include <cstdint>
#include <string_view>

namespace ballast::records {

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace ballast::records
