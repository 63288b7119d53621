#pragma once
// nnm(BASE, LAMBDA): nearest-neighbour mixing (Allouah et al. 2023), in weighted form.
//
// Each row is replaced by the mean, by weight, of its nearest rows, itself included, until weight
// (1 - LAMBDA) of the total is reached, the last in part; BASE then aggregates the new rows with
// the old weights. With m equal weights and LAMBDA = f / m these are the m - f nearest rows.

#include "ballast/robust/rule.h"

namespace ballast::robust {

// Requires: 0 <= lambda < 1/2.
RulePointer make_nnm(RulePointer base, double lambda);

}  // namespace ballast::robust
