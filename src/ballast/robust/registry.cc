#include "ballast/robust/registry.h"

#include "ballast/robust/rules/rule_item.h"

namespace ballast::robust {

// One line per rule; its own file defines kNAMERule.
#define BALLAST_RULES(RULE) \
  RULE(Mean)                \
  RULE(Cwmed)               \
  RULE(Gm)                  \
  RULE(Ctma)                \
  RULE(Cwtm)                \
  RULE(Krum)                \
  RULE(Multikrum)           \
  RULE(Mda)                 \
  RULE(Meamed)              \
  RULE(Bulyan)              \
  RULE(Cge)                 \
  RULE(Monna)               \
  RULE(Smea)                \
  RULE(Caf)                 \
  RULE(Dnc)                 \
  RULE(Cclip)               \
  RULE(Previous)            \
  RULE(Clip)                \
  RULE(Arc)                 \
  RULE(Nnm)                 \
  RULE(Distinct)            \
  RULE(Bucketing)           \
  RULE(Unweighted)

#define BALLAST_DECLARE_RULE(NAME) extern const RuleItem k##NAME##Rule;
#define BALLAST_RULE_ADDRESS(NAME) &k##NAME##Rule,

BALLAST_RULES(BALLAST_DECLARE_RULE)

namespace {

constexpr const RuleItem* kItems[] = {BALLAST_RULES(BALLAST_RULE_ADDRESS)};

}  // namespace

const expression::Registry<RulePointer>& rule_registry() {
  static const expression::Registry<RulePointer> registry(
      {.noun = "rule", .plural = "rules", .example = "gm or ctma(cwmed, 0.4)"}, kItems);
  return registry;
}

Result<RulePointer> parse_rule(std::string_view text) { return rule_registry().parse(text); }

Result<RulePointer> rule_argument(const expression::Arguments& arguments, std::string_view name) {
  return rule_registry().make_argument(arguments, name);
}

}  // namespace ballast::robust
