#pragma once
// The little language in which users name rules, attacks, weight policies and the like, on the
// command line and in specifications:
//
//   gm        ctma(gm(tolerance=1e-8), lambda=1/3)        f-cap(1, 0.2) & f-cap(8, 0.45)
//
// A call is a name, or a name with arguments in parentheses; an argument is a number or again an
// expression, and may carry a key. An expression is one call, or several joined by '&'. Spaces
// mean nothing. This file knows the syntax only: a registry (registry.h) says which names exist
// and what their arguments mean, and reports what it refuses with point_at(), as the parser does.
//
//   expression = call { "&" call }
//   call       = name [ "(" [ argument { "," argument } ] ")" ]
//   argument   = [ name "=" ] ( number | expression )      keyed arguments come last, keys differ
//   name       = a-z { a-z | 0-9 | "_" | "-" | "^" | "+" }
//   number     = [ "-" ] ( decimal | digits "/" digits )   for example 3, 0.4, 1e-8, 1/3
//
// Thread-safety: pure functions of values.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::expression {

inline constexpr std::size_t kCharactersMax = 4096;
inline constexpr std::size_t kDepthMax = 16;      // names inside names, the outermost one counted
inline constexpr std::size_t kArgumentsMax = 16;  // of one call
inline constexpr std::size_t kCallsMax = 16;      // joined by '&'

struct Argument;

struct Call {
  std::string name;
  std::size_t position = 0;  // of the name in the parsed text, counted from 0
  std::vector<Argument> arguments;
};

// Invariant: at least one call.
struct Expression {
  std::vector<Call> calls;
};

struct Argument {
  std::string key;           // empty when the argument has none
  std::size_t position = 0;  // of its first character, which is the key's when there is one
  std::variant<double, Expression> value;
};

// Equal in meaning: the positions are not compared.
bool operator==(const Call& left, const Call& right);
bool operator==(const Expression& left, const Expression& right);
bool operator==(const Argument& left, const Argument& right);

// Reads one expression that fills the whole text, or says what is wrong with it and where, as
// point_at() does. `expected` is what errors say should stand where nothing does. Numbers are
// finite doubles, whatever the locale.
// Cost: O(text.size()); the limits above bound stack and memory.
Result<Expression> parse_expression(std::string_view text, std::string_view expected = "a name");

// The canonical text: one space after each comma and around each '&', none elsewhere, numbers in
// the fewest digits that give back the same double. Of everything parse_expression() returns,
// parse_expression(to_string(e)) == e.
// Requires: numbers are finite.
std::string to_string(const Expression& expression);
std::string to_string(const Call& call);
std::string to_string(double number);

// The message, the column, and below them the text with a caret under the character at `position`:
//
//   expected a number or a name after ',' at column 10
//     ctma(gm, )
//              ^
//
// Columns are for people and count from 1: position + 1. Only the part of a long text around the
// caret is shown, and characters that are not printable ASCII are shown as '?'.
// Requires: position <= text.size().
std::string point_at(std::string_view text, std::size_t position, std::string_view message);

}  // namespace ballast::expression
