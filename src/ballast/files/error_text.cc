#include "ballast/files/error_text.h"

#include <algorithm>

namespace ballast::files {
namespace {

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShownMax = 60;
  const std::string_view left_out = text.size() > kShownMax ? "..." : "";
  return "'" + printable(std::string(text.substr(0, kShownMax))).append(left_out) + "'";
}

std::string shown(const std::filesystem::path& path) { return printable(path.string()); }

}  // namespace ballast::files
