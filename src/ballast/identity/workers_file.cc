#include "ballast/identity/workers_file.h"

#include <fmt/core.h>

#include <set>

#include "ballast/identity/name.h"

namespace ballast::identity {

Result<std::vector<std::string>> parse_workers_file(std::string_view text) {
  if (!text.empty() && text.back() != '\n') {
    return invalid_argument("its last line has no end: it may still be written");
  }
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    if (line.empty() || line.front() == '#') continue;
    if (const Status checked = check_name(line); !checked) {
      return invalid_argument(fmt::format("line {}: {}", number, checked.error().message));
    }
    if (!seen.insert(line).second) {
      return invalid_argument(fmt::format("line {}: {} is named twice", number, line));
    }
    names.emplace_back(line);
  }
  if (names.empty()) return invalid_argument("names no worker");
  return names;
}

}  // namespace ballast::identity
