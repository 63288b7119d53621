#pragma once
// A TOML text as plain values with their lines, in the order of the text. The one door to toml++,
// whose tables forget the order of their keys.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::assembly {

// A specification is written by hand; a larger text is some other file.
inline constexpr std::size_t kTomlBytesMax = std::size_t{1} << 20;

struct TomlEntry;

struct TomlDate {};  // dates and times, which no key takes

struct TomlNode {
  using List = std::vector<TomlNode>;
  using Table = std::vector<TomlEntry>;

  std::size_t line = 0;  // counted from 1
  std::variant<TomlDate, bool, std::int64_t, double, std::string, List, Table> value;
};

struct TomlEntry {
  std::string key;
  std::size_t line = 0;
  TomlNode node;
};

// Reads a whole text; the error is one line that names the file, as the caller calls it, and the
// line.
Result<TomlNode::Table> parse_toml(std::string_view text, std::string_view file);

// The value on one line, for messages: long texts are cut, what is not printable is shown as '?'.
std::string to_shown_text(const TomlNode& node);

// The same for a text that came from outside.
std::string to_shown_text(std::string_view text);

}  // namespace ballast::assembly
