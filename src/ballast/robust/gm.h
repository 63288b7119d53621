#pragma once
// gm: the weighted geometric median (Chen et al. 2017; weighted: Dahan and Levy 2024, 3.2), the
// point y that minimises f(y) = sum_i s_i |y - x_i|.
//
// Converged to a tolerance by default: f(y) - min f <= tolerance * f(y). The solver works on the
// inner products of the rows alone (gram.h), so its cost does not depend on the dimension:
// 1. if the row of smallest objective satisfies the optimality condition
//    |sum over the others of s_i (x_k - x_i) / |x_k - x_i|| <= s_k, it is the answer, exactly
//    (of several such rows, which there are only on a line, the mean by weight);
// 2. else it leaves that row by the step of Vardi and Zhang (2000), after which the objective is
//    below that of every row and no iterate can meet one; it goes on by Newton steps, and by
//    Weiszfeld's step wherever a Newton step does not descend.
// It stops when 2 |gradient| <= tolerance * sum s: as |y - argmin f| <= 2 f(y) / sum s, convexity
// then gives the bound above.
//
// gm(iterations=N) instead takes N plain Weiszfeld steps, for comparison with the literature: from
// the weighted mean, or with start=zero from the origin, as the authors' code does with N = 3.

#include "ballast/robust/rule.h"

namespace ballast::robust {

struct GmOptions {
  double tolerance = 1e-6;
  std::size_t iterations = 0;  // 0: until converged
  bool starts_at_zero = false;
};

// Requires: tolerance > 0; starts_at_zero only with iterations > 0.
RulePointer make_gm(const GmOptions& options = {});

}  // namespace ballast::robust
