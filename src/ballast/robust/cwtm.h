#pragma once
// cwtm(LAMBDA): the weighted coordinate-wise trimmed mean (Yin et al. 2018).
//
// In each coordinate, with the rows sorted by value: cut the share LAMBDA of the total weight from
// either end, splitting the rows at the cuts, and average the rest by weight. With m equal weights
// and LAMBDA = f / m this drops the f smallest and the f largest values.

#include "ballast/robust/rule.h"

namespace ballast::robust {

// Requires: 0 <= lambda < 1/2.
RulePointer make_cwtm(double lambda);

}  // namespace ballast::robust
