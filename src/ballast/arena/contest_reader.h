#pragma once
// Reads the table [arena] of a contest.

#include <string>
#include <string_view>

#include "ballast/arena/contest_spec.h"
#include "ballast/assembly/toml_document.h"
#include "ballast/base/error.h"

namespace ballast::arena {

inline constexpr std::string_view kArenaKey = "arena";

// Fills everything but the specification. Names and types are checked; what the values refer to is
// for the caller.
Status read_arena(ContestSpec& contest, const assembly::TomlEntry& arena, const std::string& file);

}  // namespace ballast::arena
