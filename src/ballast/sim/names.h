#pragma once
// Private to sim/: reads the names of enumerations.

#include <cstddef>
#include <span>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::sim {

// The index of the name. An unknown one is an error that says what kind of thing is meant and the
// nearest known name.
Result<std::size_t> find_name(std::span<const std::string_view> known, std::string_view kind,
                              std::string_view name);

}  // namespace ballast::sim
