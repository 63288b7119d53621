#include "ballast/records/display_text.h"

#include <algorithm>
#include <cstdint>

namespace ballast::records {
namespace {

struct Character {
  char32_t code;
  std::size_t bytes;  // 0 when the text does not begin with a whole, valid character
};

// The first character of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {0, 0};
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kSmallest[bytes] || is_surrogate || code > 0x10FFFF) return {0, 0};
  return {code, bytes};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // C0, DEL and C1
         (code >= 0x200B && code <= 0x200F) ||            // no width, marks of direction
         (code >= 0x2028 && code <= 0x202E) ||            // line breaks, overrides of direction
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::size_t columns_of(char32_t code) {
  if (code >= 0x300 && code <= 0x36F) return 0;
  const bool is_wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                       (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                       (code >= 0xFF00 && code <= 0xFF60) || (code >= 0x1F300 && code <= 0x1FAFF) ||
                       (code >= 0x20000 && code <= 0x3FFFD);
  return is_wide ? 2 : 1;
}

std::string spaces(std::size_t width, std::size_t used) {
  return std::string(width > used ? width - used : 0, ' ');
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0 || is_control(code)) {
      result += '?';
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    columns += bytes == 0 ? 1 : columns_of(code);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return columns;
}

std::string pad_right(const std::string& text, std::size_t width) {
  return text + spaces(width, display_width(text));
}

std::string pad_left(const std::string& text, std::size_t width) {
  return spaces(width, display_width(text)) + text;
}

}  // namespace ballast::records
