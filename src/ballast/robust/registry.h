#pragma once
// Every rule by name: one visible table, from which the command line's list, the errors and the
// documentation are printed.

#include <span>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/robust/expression.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

struct RuleEntry {
  std::string_view name;
  std::string_view usage;    // how it is written, for example "ctma(BASE, LAMBDA)"
  std::string_view summary;  // one line
  std::string_view source;   // the paper it comes from
};

std::span<const RuleEntry> rule_entries() noexcept;

// The rule that the text names, for example "ctma(gm, 0.4)". Errors point at the character that is
// wrong and name the nearest known rule.
Result<RulePointer> parse_rule(std::string_view text);

// The same for a part of a text that was parsed already.
Result<RulePointer> make_rule(const Expression& expression, std::string_view text);

}  // namespace ballast::robust
