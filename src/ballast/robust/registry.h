#pragma once
// Every rule by name: one visible table, from which the command line's list, the errors and the
// documentation are printed.

#include <string_view>

#include "ballast/base/error.h"
#include "ballast/expression/registry.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

const expression::Registry<RulePointer>& rule_registry();

// The rule that the text names, for example "ctma(gm, 0.4)". Errors point at the character that is
// wrong and name the nearest known rule.
Result<RulePointer> parse_rule(std::string_view text);

}  // namespace ballast::robust
