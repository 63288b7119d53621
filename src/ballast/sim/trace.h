#pragma once
// Arrivals out of a text file: one worker number per line, in the order of arrival.
//
// The file is hostile input. Memory is bounded by its size; errors name the line.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::sim {

inline constexpr std::size_t kTraceBytesMax = std::size_t{64} << 20;

// Lines end in LF or CRLF, the last one may end with the text. Refuses an empty trace, lines that
// are not a plain decimal number, and workers that do not exist.
Result<std::vector<std::uint32_t>> parse_trace(std::string_view text, std::size_t worker_count);

// The same out of a regular file of at most kTraceBytesMax; errors name the file.
Result<std::vector<std::uint32_t>> read_trace(const std::filesystem::path& path,
                                              std::size_t worker_count);

}  // namespace ballast::sim
