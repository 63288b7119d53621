// Turns what stands in a TOML text into the value of a key.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "ballast/assembly/keys.h"

namespace ballast::assembly {
namespace {

std::optional<double> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// "1/3" and the like.
std::optional<double> fraction(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto above = whole_number(text.substr(0, slash));
  const auto below = whole_number(text.substr(slash + 1));
  if (!above || !below || *below == 0.0) return std::nullopt;
  return *above / *below;
}

std::optional<double> number(const TomlNode& node) {
  std::optional<double> result;
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) {
    result = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&node.value)) {
    result = *real;
  } else if (const auto* text = std::get_if<std::string>(&node.value)) {
    result = fraction(*text);
  }
  return result && std::isfinite(*result) ? result : std::nullopt;
}

std::optional<std::uint64_t> whole(const TomlNode& node) {
  const auto* held = std::get_if<std::int64_t>(&node.value);
  if (held == nullptr || *held < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*held);
}

Result<Value> read_flag(const TomlNode& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return *flag;
  return invalid_argument("must be true or false");
}

Result<Value> read_whole(const TomlNode& node) {
  if (const auto held = whole(node)) return *held;
  return invalid_argument("must be a whole number, 0 or more");
}

Result<Value> read_number(const TomlNode& node) {
  if (const auto held = number(node)) return *held;
  return invalid_argument("must be a finite number, such as 0.4, or a fraction, such as \"1/3\"");
}

Result<Value> read_beta(const TomlNode& node) {
  const auto* text = std::get_if<std::string>(&node.value);
  if (text != nullptr && *text == "1/k") return *text;
  if (const auto held = number(node)) return *held;
  return invalid_argument("must be a finite number, such as 0.25, or \"1/k\"");
}

Result<Value> read_text(const TomlNode& node) {
  if (const auto* text = std::get_if<std::string>(&node.value)) return *text;
  return invalid_argument("must be a text in quotes");
}

Result<Value> read_word(const TomlNode& node, std::span<const std::string_view> words) {
  const auto* text = std::get_if<std::string>(&node.value);
  if (text != nullptr && std::ranges::find(words, *text) != words.end()) return *text;
  return invalid_argument(one_of_text(text != nullptr ? *text : "", words));
}

Result<Value> read_whole_list(const TomlNode& node) {
  const auto error = invalid_argument("must be a list of whole numbers, such as [1, 2, 3]");
  const auto* nodes = std::get_if<TomlNode::List>(&node.value);
  if (nodes == nullptr) return error;
  std::vector<std::uint64_t> numbers;
  for (const TomlNode& entry : *nodes) {
    const auto held = whole(entry);
    if (!held) return error;
    numbers.push_back(*held);
  }
  return numbers;
}

}  // namespace

Result<Value> read_value(const Key& key, const TomlNode& node) {
  switch (key.type) {
    case KeyType::kFlag:
      return read_flag(node);
    case KeyType::kWhole:
      return read_whole(node);
    case KeyType::kNumber:
      return read_number(node);
    case KeyType::kBeta:
      return read_beta(node);
    case KeyType::kText:
      return read_text(node);
    case KeyType::kWord:
      return read_word(node, key.words);
    case KeyType::kPath:
    case KeyType::kExpression:
      return read_text(node);
    case KeyType::kWholeList:
      return read_whole_list(node);
  }
  return invalid_argument("has an unknown type");
}

}  // namespace ballast::assembly
