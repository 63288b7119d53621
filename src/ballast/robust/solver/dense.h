#pragma once
// The two loops over m x m numbers that the solver spends its time in, for many rows: compiled for
// several instruction sets, all of which give the same bits (base/target_clones.h).

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::robust {

// out[i] = sum_j vector[j] * matrix[i][j], added in the order of j.
// Requires: a symmetric matrix of out.size() rows; out is not the vector.
void multiply_symmetric(std::span<const double> matrix, std::span<const double> vector,
                        std::span<double> out) noexcept;

// The squared distances of one row from the others, from its inner products and the squared norms
// of all, never below 0. Symmetric to the last bit.
void distances_from_row(std::span<const double> products, std::span<const double> squared_norms,
                        std::size_t row, std::span<double> distances) noexcept;

// The sum of the units of those whose squared distance from the row is below the bound.
std::uint64_t weight_near_row(std::span<const double> products,
                              std::span<const double> squared_norms, std::size_t row,
                              std::span<const std::uint64_t> units, double bound) noexcept;

// One row's part in the objective of the geometric median as seen from every row, less that at the
// centre: adds share * (|x - x_k| - |x - centre|) to objectives[k].
struct SeenRow {
  std::span<const double> products;  // with every row
  double squared_norm;
  double share;
};
void add_gains_at_rows(const SeenRow& row, std::span<const double> squared_norms,
                       std::span<double> objectives) noexcept;

}  // namespace ballast::robust
