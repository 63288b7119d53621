#pragma once
// A small dense solver for the Newton steps of the geometric median: a few dozen unknowns, no
// allocation, deterministic. (A linear-algebra library would bring more than this one page.)

#include <span>

namespace ballast::robust {

// Solves matrix * x = right for a symmetric matrix, of which only the upper triangle is read,
// writing x over `right` and the factor over `matrix`. False if some pivot is not above
// `pivot_min`: then the matrix is not safely positive definite and both spans hold garbage.
bool solve_positive_definite(std::span<double> matrix, std::span<double> right, double pivot_min);

}  // namespace ballast::robust
