#pragma once
// What an authority, a worker or a server may be called. The name becomes a file name, part of an
// URI, a metric label and a word in logs, so it is kept to what is safe in all of these.

#include <cstddef>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::identity {

inline constexpr std::size_t kNameLengthMax = 63;  // a DNS label

// A lower-case letter or digit, then up to 62 of these or '-'.
bool is_name(std::string_view text) noexcept;

// Refuses what is not a name, and says what one looks like.
Status check_name(std::string_view text);

}  // namespace ballast::identity
