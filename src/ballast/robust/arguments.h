#pragma once
// Reads the arguments of one name in a rule expression, with errors that point at the character
// that is wrong. Rule factories ask for what they take, then call finish().

#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/robust/expression.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

class Arguments {
 public:
  // `expression` was parsed from `text`; both outlive this object.
  Arguments(const Expression& expression, std::string_view text)
      : expression_(expression), text_(text), is_used_(expression.arguments.size(), false) {}

  // The rule given as the next argument without a key.
  Result<RulePointer> rule(std::string_view name);

  // The share given as the next argument without a key or as key=...: 0 <= share < 1/2.
  Result<double> share(std::string_view key);

  // The number with that key, or the next argument without one; absent: the default, or an error if
  // there is none.
  Result<double> positive(std::string_view key, double absent);
  Result<std::uint64_t> whole(std::string_view key, std::uint64_t smallest,
                              const std::uint64_t* absent);

  // The word with that key; absent: empty. An error unless it is one of `known`.
  Result<std::string> word(std::string_view key, std::span<const std::string_view> known);

  // An error if some argument was not asked for.
  Status finish() const;

  // An error that points at the argument with that key, or at the name.
  tl::unexpected<Error> refuse(std::string_view key, std::string_view message) const;

 private:
  const Argument* take(std::string_view key);
  Result<double> number(const Argument& argument, std::string_view key) const;
  tl::unexpected<Error> point(std::size_t position, std::string_view message) const;
  tl::unexpected<Error> missing(std::string_view what) const;

  const Expression& expression_;
  std::string_view text_;
  std::vector<bool> is_used_;
};

}  // namespace ballast::robust
