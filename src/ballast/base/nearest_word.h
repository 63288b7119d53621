#pragma once
// "Did you mean ...?": the known word nearest to a misspelt one.

#include <optional>
#include <span>
#include <string_view>

namespace ballast {

// Number of single-character insertions, deletions and replacements that turn one word into the
// other.
std::size_t edit_distance(std::string_view left, std::string_view right);

// The known word with the smallest edit distance, if that is at most half the word's length.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> known);

}  // namespace ballast
