#include "ballast/expression/syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::expression {
namespace {

// Not <cctype>: its answers depend on the locale.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '^' || c == '+';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Recursive descent. Every parse_... starts at the first character of its part, spaces skipped, and
// leaves cursor_ on the first character after it.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> parse_whole_text(std::string_view expected) {
    skip_spaces();
    if (!is_lower(peek())) return error_here(fmt::format("expected {}", expected));
    BALLAST_TRY(Expression expression, parse_expression(1));
    if (cursor_ < text_.size()) return error_here("expected the end");
    return expression;
  }

 private:
  using Value = std::variant<double, Expression>;

  // Also passes the spaces behind it, where an '&' may stand.
  Result<Expression> parse_expression(std::size_t depth) {
    Expression expression;
    while (true) {
      BALLAST_TRY(Call call, parse_call(depth));
      if (expression.calls.size() == kCallsMax) {
        return error_at(call.position, fmt::format("more than {} parts joined by '&'", kCallsMax));
      }
      expression.calls.push_back(std::move(call));
      skip_spaces();
      if (peek() != '&') return expression;
      take();
      skip_spaces();
      if (!is_lower(peek())) return error_here("expected a name after '&'");
    }
  }

  Result<Call> parse_call(std::size_t depth) {
    if (depth > kDepthMax) {
      return error_here(fmt::format("names are nested more than {} deep", kDepthMax));
    }
    Call call;
    call.position = cursor_;
    call.name = parse_name();
    skip_spaces();
    if (peek() != '(') return call;
    BALLAST_TRY(call.arguments, parse_arguments(depth));
    return call;
  }

  Result<std::vector<Argument>> parse_arguments(std::size_t depth) {
    std::vector<Argument> arguments;
    char before = take();  // '('
    skip_spaces();
    while (peek() != ')' || before == ',') {
      BALLAST_TRY(Argument argument, parse_argument(before, depth));
      BALLAST_TRY_STATUS(check_fits(arguments, argument));
      arguments.push_back(std::move(argument));
      skip_spaces();
      if (peek() == ')') break;
      if (peek() != ',') return error_here("expected ',' or ')'");
      before = take();
      skip_spaces();
    }
    take();
    return arguments;
  }

  Result<Argument> parse_argument(char before, std::size_t depth) {
    const std::size_t start = cursor_;
    std::string key = parse_key();
    if (!key.empty()) before = '=';
    BALLAST_TRY(Value value, parse_value(before, depth));
    return Argument{.key = std::move(key), .position = start, .value = std::move(value)};
  }

  Result<Value> parse_value(char before, std::size_t depth) {
    if (is_lower(peek())) return parse_expression(depth + 1);
    if (is_digit(peek()) || peek() == '.' || peek() == '-') return parse_number();
    return error_here(fmt::format("expected a number or a name after '{}'", before));
  }

  // The key of a `key=`, which it passes, or nothing when what comes is not one.
  std::string parse_key() {
    const std::size_t start = cursor_;
    std::string key = is_lower(peek()) ? parse_name() : std::string();
    skip_spaces();
    if (!key.empty() && peek() == '=') {
      take();
      skip_spaces();
      return key;
    }
    cursor_ = start;
    return {};
  }

  std::string parse_name() {
    const std::size_t start = cursor_;
    while (is_name_character(peek())) ++cursor_;
    return std::string(text_.substr(start, cursor_ - start));
  }

  Result<double> parse_number() {
    const std::size_t start = cursor_;
    BALLAST_TRY(const double number, parse_decimal());
    const bool can_be_divided = is_whole(start);
    skip_spaces();
    if (peek() != '/') return number;
    if (!can_be_divided) return error_at(start, "expected a whole number before '/'");
    take();
    skip_spaces();
    BALLAST_TRY(const double denominator, parse_denominator());
    return number / denominator;
  }

  Result<double> parse_denominator() {
    const std::size_t start = cursor_;
    if (!is_digit(peek())) return error_here("expected a whole number after '/'");
    BALLAST_TRY(const double denominator, parse_decimal());
    if (!is_whole(start)) return error_at(start, "expected a whole number after '/'");
    if (denominator == 0.0) return error_at(start, "a fraction cannot divide by 0");
    return denominator;
  }

  Result<double> parse_decimal() {
    const char first = peek(peek() == '-' ? 1 : 0);
    double number = 0.0;
    const auto [rest, error] =
        std::from_chars(text_.data() + cursor_, text_.data() + text_.size(), number);
    // from_chars() alone would also take "-inf" and "-nan".
    if (error == std::errc::invalid_argument || !(is_digit(first) || first == '.')) {
      return error_here("expected a number, such as 0.4, 1e-8 or 1/3,");
    }
    if (error == std::errc::result_out_of_range) {
      return error_here("the number is too large or too small for a double");
    }
    cursor_ = static_cast<std::size_t>(rest - text_.data());
    return number;
  }

  // Whether the number that ends at the cursor is all digits after its sign.
  bool is_whole(std::size_t start) const {
    if (text_[start] == '-') ++start;
    return std::all_of(text_.begin() + start, text_.begin() + cursor_, is_digit);
  }

  Status check_fits(const std::vector<Argument>& before, const Argument& next) const {
    if (before.size() == kArgumentsMax) {
      return error_at(next.position, fmt::format("more than {} arguments", before.size()));
    }
    if (next.key.empty() && !before.empty() && !before.back().key.empty()) {
      return error_at(next.position, "an argument without a key cannot follow one with a key");
    }
    const auto has_same_key = [&](const Argument& other) { return other.key == next.key; };
    if (!next.key.empty() && std::any_of(before.begin(), before.end(), has_same_key)) {
      return error_at(next.position, fmt::format("'{}' is given twice", next.key));
    }
    return {};
  }

  void skip_spaces() {
    while (is_space(peek())) ++cursor_;
  }

  // The end of the text reads as a character that is part of nothing.
  char peek(std::size_t ahead = 0) const {
    return cursor_ + ahead < text_.size() ? text_[cursor_ + ahead] : '\0';
  }
  char take() { return text_[cursor_++]; }

  tl::unexpected<Error> error_at(std::size_t position, std::string_view message) const {
    return invalid_argument(point_at(text_, position, message));
  }
  tl::unexpected<Error> error_here(std::string_view message) const {
    return error_at(cursor_, message);
  }

  std::string_view text_;
  std::size_t cursor_ = 0;
};

std::string argument_text(const Argument& argument) {
  const std::string key = argument.key.empty() ? "" : argument.key + "=";
  return key + std::visit([](const auto& value) { return to_string(value); }, argument.value);
}

// The printable form of a text, one character for each of its bytes, so that the caret stays below
// its character and nothing a text holds can reach into the terminal.
std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (is_space(c)) c = ' ';
    if (c < ' ' || c > '~') c = '?';
  }
  return shown;
}

}  // namespace

bool operator==(const Call& left, const Call& right) {
  return left.name == right.name && left.arguments == right.arguments;
}

bool operator==(const Expression& left, const Expression& right) {
  return left.calls == right.calls;
}

bool operator==(const Argument& left, const Argument& right) {
  return left.key == right.key && left.value == right.value;
}

Result<Expression> parse_expression(std::string_view text, std::string_view expected) {
  if (text.size() > kCharactersMax) {
    return invalid_argument(
        point_at(text, kCharactersMax, fmt::format("more than {} characters", kCharactersMax)));
  }
  BALLAST_TRY(Expression expression, Parser(text).parse_whole_text(expected));
  // A short text full of fractions can have a canonical text that could not be read back.
  if (to_string(expression).size() > kCharactersMax) {
    return invalid_argument(
        point_at(text, 0, fmt::format("more than {} characters once written out", kCharactersMax)));
  }
  return expression;
}

std::string to_string(double number) {
  BALLAST_CHECK(std::isfinite(number), "an expression holds finite numbers");
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return std::string(digits.data(), end);
}

std::string to_string(const Call& call) {
  if (call.arguments.empty()) return call.name;
  std::string text = call.name + "(";
  for (const Argument& argument : call.arguments) {
    if (text.back() != '(') text += ", ";
    text += argument_text(argument);
  }
  return text + ")";
}

std::string to_string(const Expression& expression) {
  std::string text;
  for (const Call& call : expression.calls) {
    if (!text.empty()) text += " & ";
    text += to_string(call);
  }
  return text;
}

std::string point_at(std::string_view text, std::size_t position, std::string_view message) {
  BALLAST_CHECK(position <= text.size(), "the caret points into the text or just behind it");
  constexpr std::size_t kShownAround = 36;
  const std::size_t begin = position > kShownAround ? position - kShownAround : 0;
  const std::size_t end = std::min(text.size(), position + kShownAround);
  const std::string_view left_out = begin > 0 ? "..." : "";
  const std::string_view right_out = end < text.size() ? "..." : "";
  return fmt::format("{} at column {}\n  {}{}{}\n  {:>{}}", message, position + 1, left_out,
                     printable(text.substr(begin, end - begin)), right_out, '^',
                     left_out.size() + (position - begin) + 1);
}

}  // namespace ballast::expression
