#pragma once
// Who may take part in a run: a text with one name per line, in which lines that begin with '#' and
// empty lines say nothing.

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::identity {

// Refuses what is no name, a name twice and a text without names; errors say which line. A last
// line without its end is refused: it may still be written, and half of a name may be a name.
Result<std::vector<std::string>> parse_workers_file(std::string_view text);

}  // namespace ballast::identity
