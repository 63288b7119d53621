#pragma once
// mean: sum_i s_i x_i / sum_i s_i. Not robust: one row moves it anywhere.

#include "ballast/robust/rule.h"

namespace ballast::robust {

RulePointer make_mean();

}  // namespace ballast::robust
