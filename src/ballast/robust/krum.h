#pragma once
// krum(LAMBDA) and multikrum(LAMBDA): the row, or the rows, in the densest company (Blanchard et
// al. 2017), in weighted form.
//
// The score of row i is the sum of the squared distances to its nearest other rows, each counted
// with its weight, until weight (1 - LAMBDA) W - s_i - W/m is counted (the last row in part; never
// less than W/m). W is the total weight, s_i the row's own. With m equal weights and LAMBDA = f / m
// these are the m - f - 2 nearest rows of the original. krum is the row of smallest score;
// multikrum takes rows in order of score until their weight is (1 - LAMBDA) W, the last in part,
// and averages them. Ties are broken by row number.

#include "ballast/robust/rule.h"

namespace ballast::robust {

// Requires: 0 <= lambda < 1/2.
RulePointer make_krum(double lambda);
RulePointer make_multikrum(double lambda);

}  // namespace ballast::robust
