#pragma once
// Private to face/: what callers may call the parts of a state.

#include <algorithm>
#include <string_view>

namespace ballast::face {

inline constexpr std::size_t kStateNameMax = 64;

inline bool is_state_name(std::string_view text) {
  return !text.empty() && text.size() <= kStateNameMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace ballast::face
