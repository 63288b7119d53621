#pragma once
// The value of one key, whatever its type, and its text.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ballast::assembly {

using Value = std::variant<bool, std::uint64_t, double, std::string, std::vector<std::uint64_t>>;

// As TOML, on one line. Numbers have the fewest digits that give back the same double.
// Requires: numbers are finite.
std::string to_toml(const Value& value);

// A TOML string in quotes, on one line, whatever the text holds.
std::string to_quoted(std::string_view text);

// The text on one line: what is not printable ASCII becomes '?'.
std::string to_printable(std::string_view text);

// For people: as TOML, but a text without its quotes.
std::string to_plain_text(const Value& value);

}  // namespace ballast::assembly
