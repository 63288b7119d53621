#pragma once
// unweighted(RULE): the rule with every weight equal, as in the synchronous literature.

#include "ballast/robust/rule.h"

namespace ballast::robust {

RulePointer make_unweighted(RulePointer base);

}  // namespace ballast::robust
