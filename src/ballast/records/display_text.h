#pragma once
// Private to records/: labels on a terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace ballast::records {

// The text without what could break a line or steer a terminal: control characters become '?', and
// so do bytes that are not UTF-8.
std::string printable(std::string_view text);

// How many columns a terminal needs for a printable text: one per character, none for a combining
// accent, two for the wide characters of East Asian scripts.
std::size_t display_width(std::string_view text);

// The text, filled up with spaces on one side to `width` columns.
std::string pad_right(const std::string& text, std::size_t width);
std::string pad_left(const std::string& text, std::size_t width);

}  // namespace ballast::records
