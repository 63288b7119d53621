// Headers only, and without exceptions: the compiled library that some systems have throws.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0

#include "ballast/experiment/toml_document.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "ballast/experiment/value.h"

namespace ballast::experiment {
namespace {

constexpr std::size_t kShownCharactersMax = 80;

TomlNode to_node(const toml::node& node);

TomlNode::Table to_table(const toml::table& table) {
  using Place = std::pair<toml::source_position, TomlEntry>;
  std::vector<Place> places;
  for (const auto& [key, node] : table) {
    const toml::source_position place = key.source().begin;
    places.emplace_back(place, TomlEntry{std::string(key.str()), place.line, to_node(node)});
  }
  std::ranges::stable_sort(places, std::ranges::less{}, &Place::first);
  TomlNode::Table entries;
  for (Place& place : places) entries.push_back(std::move(place.second));
  return entries;
}

TomlNode::List to_list(const toml::array& array) {
  TomlNode::List nodes;
  for (const toml::node& node : array) nodes.push_back(to_node(node));
  return nodes;
}

TomlNode to_node(const toml::node& node) {
  TomlNode result{.line = node.source().begin.line, .value = TomlDate{}};
  if (const auto* flag = node.as_boolean()) result.value = flag->get();
  if (const auto* whole = node.as_integer()) result.value = whole->get();
  if (const auto* number = node.as_floating_point()) result.value = number->get();
  if (const auto* text = node.as_string()) result.value = text->get();
  if (const auto* array = node.as_array()) result.value = to_list(*array);
  if (const auto* table = node.as_table()) result.value = to_table(*table);
  return result;
}

std::string shown(TomlDate) { return "a date or time"; }
std::string shown(bool flag) { return to_toml(Value(flag)); }
std::string shown(std::int64_t whole) { return fmt::format("{}", whole); }
std::string shown(double number) { return to_toml(Value(number)); }
std::string shown(const std::string& text) { return to_quoted(text); }
std::string shown(const TomlNode::Table&) { return "a table"; }

std::string shown(const TomlNode::List& nodes) {
  std::string text = "[";
  for (const TomlNode& node : nodes) {
    if (text.size() > 1) text += ", ";
    if (text.size() > kShownCharactersMax) break;
    text += std::visit([](const auto& value) { return shown(value); }, node.value);
  }
  return text + "]";
}

}  // namespace

Result<TomlNode::Table> parse_toml(std::string_view text, std::string_view file) {
  if (text.size() > kTomlBytesMax) {
    return invalid_argument(
        fmt::format("{}: longer than {} bytes; is it a specification?", file, kTomlBytesMax));
  }
  const toml::parse_result result = toml::parse(text);
  if (result) return to_table(result.table());
  const toml::parse_error& error = result.error();
  return invalid_argument(fmt::format("{}:{}: {}", file, error.source().begin.line,
                                      to_shown_text(error.description())));
}

std::string to_shown_text(const TomlNode& node) {
  return to_shown_text(std::visit([](const auto& value) { return shown(value); }, node.value));
}

std::string to_shown_text(std::string_view text) {
  const std::string_view dots = text.size() > kShownCharactersMax ? "..." : "";
  return to_printable(text.substr(0, kShownCharactersMax)).append(dots);
}

}  // namespace ballast::experiment
