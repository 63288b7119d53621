#pragma once
// How a rule's own file tells the registry of it: it defines `NAME_rule`, and registry.cc lists
// NAME.

#include <string_view>

#include "ballast/expression/registry.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

using RuleItem = expression::Item<RulePointer>;

// The parameters that many rules have.
inline constexpr auto kBaseParameter =
    expression::Parameter::nested("base", "rule", "the rule it is built on");
inline constexpr auto kLambdaParameter =
    expression::Parameter::number("lambda", "the share to defend against").from(0).below(0.5);

inline constexpr expression::Parameter kLambdaOnly[] = {kLambdaParameter};
inline constexpr expression::Parameter kBaseAndLambda[] = {kBaseParameter, kLambdaParameter};

// The rule that the argument holds. Requires: a parameter like kBaseParameter.
Result<RulePointer> rule_argument(const expression::Arguments& arguments, std::string_view name);

// Makers for the two tables above.
template <RulePointer (*make)(double)>
Result<RulePointer> make_from_lambda(const expression::Arguments& arguments) {
  return make(arguments.number("lambda"));
}

template <RulePointer (*make)(RulePointer, double)>
Result<RulePointer> make_from_base_and_lambda(const expression::Arguments& arguments) {
  BALLAST_TRY(RulePointer base, rule_argument(arguments, "base"));
  return make(std::move(base), arguments.number("lambda"));
}

}  // namespace ballast::robust
