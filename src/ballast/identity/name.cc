#include "ballast/identity/name.h"

#include <fmt/format.h>

#include <algorithm>

#include "ballast/files/error_text.h"

namespace ballast::identity {
namespace {

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kNameLengthMax && text[0] != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

Status check_name(std::string_view text) {
  if (is_name(text)) return {};
  return invalid_argument(fmt::format(
      "{} is not a name; use at most {} of a-z, 0-9 and '-', and begin with a letter or digit",
      files::in_quotes(text), kNameLengthMax));
}

}  // namespace ballast::identity
