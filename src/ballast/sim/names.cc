#include "ballast/sim/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ballast/base/nearest_word.h"

namespace ballast::sim {

Result<std::size_t> find_name(std::span<const std::string_view> known, std::string_view kind,
                              std::string_view name) {
  const auto found = std::ranges::find(known, name);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const auto nearest = nearest_word(name, known);
  const std::string hint = nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                                   : fmt::format("known are {}", fmt::join(known, ", "));
  return not_found(fmt::format("unknown {} \"{}\"; {}", kind, name, hint));
}

}  // namespace ballast::sim
