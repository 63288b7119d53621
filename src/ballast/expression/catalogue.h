#pragma once
// The names of one family (rules, attacks, ...) and what is known of each, without what they make:
// what errors, lists and documents need. registry.h adds the making.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/arguments.h"
#include "ballast/expression/parameter.h"
#include "ballast/expression/syntax.h"

namespace ballast::expression {

// What a family is called.
struct Family {
  std::string_view noun;     // of one of them: "rule"
  std::string_view plural;   // "rules"
  std::string_view example;  // "gm or ctma(cwmed, 0.4)"
};

struct Catalogue {
  Family family;
  std::vector<const Entry*> entries;  // in the order in which they are to be listed
};

// "compute-times" of "compute times": the word after `ballast list`.
std::string list_word(const Family& family);

// Parses the text; where nothing is written, the error says what is expected.
Result<Expression> parse_text(const Catalogue& catalogue, std::string_view text);

// Refuses more calls than `calls_max`, and several unless all of them may be joined.
Status check_joined(const Catalogue& catalogue, const Expression& expression, std::string_view text,
                    std::size_t calls_max = kCallsMax);

// The number of the call's entry. An unknown name is an error that points at it and suggests the
// nearest. The call was parsed from `text`.
Result<std::size_t> find_entry(const Catalogue& catalogue, const Call& call, std::string_view text);

// The arguments of the call, checked. Requires: the number that find_entry() gave.
Result<Arguments> check_call(const Catalogue& catalogue, std::size_t entry, const Call& call,
                             std::string_view text);

// One text for all texts that mean the same: spaces and numbers as to_string() has them, required
// arguments by position, the others by key and only where they differ from their default. An error
// if the text is wrong, or if this one would be too long to be read back.
Result<std::string> canonical_text(const Catalogue& catalogue, std::string_view text);

}  // namespace ballast::expression
