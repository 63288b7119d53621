#pragma once
// cwmed: the weighted coordinate-wise median (Yin et al. 2018; weighted: Dahan and Levy 2024, 3.2).
//
// In each coordinate, with the rows sorted by value: the value at which the cumulative weight first
// exceeds half of the total; if some prefix weighs exactly half, the mean of the two neighbours.
// Weights are compared as whole numbers, so ties are exact. Equal weights give the plain median.

#include "ballast/robust/rule.h"

namespace ballast::robust {

RulePointer make_cwmed();

}  // namespace ballast::robust
