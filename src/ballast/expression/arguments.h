#pragma once
// The arguments of one call, checked against the parameters of its entry: every required one is
// there, none is unknown, each is of its kind and in its range, and what is absent has its default.
// Errors point at the character that is wrong.
//
// An argument without a key belongs to the next parameter, in the order of the entry, that no key
// names: ctma(0.4, base=gm) and ctma(gm, 0.4) are the same.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/parameter.h"
#include "ballast/expression/syntax.h"

namespace ballast::expression {

class Arguments {
 public:
  // `call` was parsed from `text`; entry, call and text outlive the result. `see` ends errors that
  // a look at the list of names would help with: "'ballast list rules'".
  static Result<Arguments> check(const Entry& entry, const Call& call, std::string_view text,
                                 std::string_view see);

  // Each of these requires a parameter of that name and kind that was given or has a default.
  double number(std::string_view name) const;
  std::uint64_t whole(std::string_view name) const;
  std::string_view word(std::string_view name) const;

  // An expression and the text that it was parsed from, to which its positions belong.
  struct Nested {
    const Expression& expression;
    std::string_view text;
  };
  Nested nested(std::string_view name) const;

  // The argument as it was written; nothing if it was left out.
  const Argument* given(std::string_view name) const;
  bool is_given(std::string_view name) const { return given(name) != nullptr; }

  // An error that points at the argument of that name, or at the call if it was not given. For what
  // no table can say: how arguments fit together.
  tl::unexpected<Error> refuse(std::string_view name, std::string_view message) const;

 private:
  // One parameter and what it is bound to.
  struct Bound {
    const Argument* argument = nullptr;  // nothing: the default
    double number = 0.0;
    std::string word = {};
    Expression absent = {};  // the default of a kExpression
  };

  Arguments(const Entry& entry, const Call& call, std::string_view text)
      : entry_(&entry), call_(&call), text_(text), bound_(entry.parameters.size()) {}

  Status bind(std::string_view see);
  Status read(std::size_t index, std::string_view see);
  Status read_given(std::size_t index);
  Status read_number(std::size_t index);
  Status read_word(std::size_t index);
  Status read_nested(std::size_t index);
  tl::unexpected<Error> missing(std::size_t index, std::string_view see) const;
  tl::unexpected<Error> unknown(const Argument& argument, std::string_view see) const;
  tl::unexpected<Error> point(std::size_t position, std::string_view message) const;
  std::size_t index_of(std::string_view name) const;
  std::size_t index_of(std::string_view name, ParameterKind kind) const;

  const Entry* entry_;
  const Call* call_;
  std::string_view text_;
  std::vector<Bound> bound_;  // by parameter
};

}  // namespace ballast::expression
