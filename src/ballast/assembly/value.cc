#include "ballast/assembly/value.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace ballast::assembly {
namespace {

std::string text_of(bool flag) { return flag ? "true" : "false"; }
std::string text_of(std::uint64_t number) { return fmt::format("{}", number); }
std::string text_of(const std::string& text) { return to_quoted(text); }

// TOML tells 1.0 from 1, so a number that looks whole is given a point.
std::string text_of(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string text_of(const std::vector<std::uint64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace

std::string to_toml(const Value& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

std::string to_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (code < 0x20 || code == 0x7F) {
      result += fmt::format("\\u{:04X}", code);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string to_printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

std::string to_plain_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_toml(value);
}

}  // namespace ballast::assembly
