#pragma once
// ctma(BASE, LAMBDA): the weighted centred trimmed meta aggregator (Dahan and Levy 2024, Algorithm
// 1).
//
// x_0 = BASE(rows). Take the rows in order of their distance from x_0 (ties by row number) until
// their weights add up to (1 - LAMBDA) of the total, the last one in part, and average what was
// taken by weight. Lemma 3.1: if BASE is (c, LAMBDA)-robust, this is (60 LAMBDA (1 + c),
// LAMBDA)-robust.

#include "ballast/robust/rule.h"

namespace ballast::robust {

// Requires: 0 <= lambda < 1/2.
RulePointer make_ctma(RulePointer base, double lambda);

}  // namespace ballast::robust
