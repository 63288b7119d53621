#include "ballast/expression/parameter.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ballast/expression/syntax.h"

namespace ballast::expression {
namespace {

std::string whole_range(const Parameter& parameter) {
  std::string text = fmt::format("a whole number from {}", number_text(parameter.low));
  if (parameter.high < kWholeMax) text += fmt::format(" to {}", number_text(parameter.high));
  return text;
}

std::string number_range(const Parameter& parameter) {
  std::string text;
  if (std::isfinite(parameter.low)) {
    text = fmt::format("{} {}", parameter.is_low_allowed ? "at least" : "above",
                       number_text(parameter.low));
  }
  if (!std::isfinite(parameter.high)) return text;
  if (!text.empty()) text += " and ";
  return text + fmt::format("{} {}", parameter.is_high_allowed ? "at most" : "below",
                            number_text(parameter.high));
}

std::string upper_case(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

std::string argument_usage(const Parameter& parameter) {
  if (parameter.is_required) return upper_case(parameter.name);
  const std::string value = parameter.has_default()                   ? default_text(parameter)
                            : parameter.kind == ParameterKind::kWhole ? "N"
                                                                      : "X";
  return fmt::format("{}={}", parameter.name, value);
}

}  // namespace

std::string range_text(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return number_range(parameter);
    case ParameterKind::kWhole:
      return whole_range(parameter);
    case ParameterKind::kWord:
      return fmt::format("one of: {}", fmt::join(parameter.words, ", "));
    case ParameterKind::kExpression:
      return with_article(parameter.noun);
  }
  return "";
}

std::string default_text(const Parameter& parameter) {
  if (parameter.is_required) return "";
  if (parameter.absent_number) return to_string(*parameter.absent_number);
  return std::string(parameter.absent_text);
}

std::string usage(const Entry& entry) {
  std::string text;
  for (const Parameter& parameter : entry.parameters) {
    text += text.empty() ? "(" : ", ";
    text += argument_usage(parameter);
  }
  return fmt::format("{}{}{}", entry.name, text, text.empty() ? "" : ")");
}

std::string with_article(std::string_view noun) {
  const bool is_vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) <= 4;
  return fmt::format("{} {}", is_vowel ? "an" : "a", noun);
}

std::string number_text(double number) { return number == 0.5 ? "1/2" : fmt::format("{}", number); }

}  // namespace ballast::expression
