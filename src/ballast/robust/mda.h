#pragma once
// mda(LAMBDA): minimum-diameter averaging (El Mhamdi et al. 2018), in weighted form.
//
// Among the sets of rows that hold at least 1 - LAMBDA of the weight take one whose largest
// distance between two members is smallest (of several the heaviest, then the first in order of row
// numbers), and average it by weight. With m equal weights and LAMBDA = f / m these are sets of
// m - f rows (more only where distances tie).
//
// The search is exact: it lists the maximal cliques of the graph of near rows, at most 3^(m/3) of
// them, so the rule takes at most kMdaRowsMax rows and refuses more.

#include "ballast/robust/rule.h"

namespace ballast::robust {

inline constexpr std::size_t kMdaRowsMax = 32;

// Requires: 0 <= lambda < 1/2.
RulePointer make_mda(double lambda);

}  // namespace ballast::robust
