#pragma once
// Private to verify/: the rules of Section 3 written down a second time, in plain double precision
// and as the paper has them. What the library computes is compared with these.

#include "ballast/verify/rows_of_numbers.h"

namespace ballast::verify {

// cwmed with its tie rule: the mean of two neighbours where a prefix weighs exactly half.
// Requires: whole weights, so that halves are exact.
DoubleVector plain_cwmed(const WeightedRows& table);

// Algorithm 1 around the given anchor: the nearest 1 - lambda of the weight, the last row split.
DoubleVector plain_ctma(const WeightedRows& table, double lambda, const DoubleVector& anchor);

// Whether rounding cannot change which row is nearer to the anchor. The midpoint of two rows, for
// instance, is as far from the one as from the other, and Algorithm 1 leaves open which one goes.
bool has_clear_order(const WeightedRows& table, const DoubleVector& anchor);

// What gm minimises.
double sum_of_distances(const WeightedRows& table, const DoubleVector& point);

// The smallest such sum that a row or a long run of Weiszfeld's iteration reaches.
double smallest_sum(const WeightedRows& table);

}  // namespace ballast::verify
