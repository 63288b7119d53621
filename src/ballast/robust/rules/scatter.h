#pragma once
// How far rows spread, for the rules that judge rows by the direction in which they spread most:
// caf, dnc and smea. The scatter of rows with parts p_i and mean mu, by parts, is
// sum_i p_i (x_i - mu)(x_i - mu)^T. It has the positive eigenvalues of the small matrix
// sqrt(p_i p_j) <x_i - mu, x_j - mu>, so everything follows from inner products.
//
// All double precision, deterministic, no allocation after the construction.

#include <span>

#include "ballast/robust/solver/gram.h"
#include "ballast/robust/workspace.h"

namespace ballast::robust {

// Eigenvalues this near to the largest, as a fraction of it, count as equal to it.
inline constexpr double kEigenvalueTolerance = 1e-9;

class Scatter {
 public:
  Scatter(std::size_t rows_max, Workspace& workspace);

  // The scatter of the rows that have a part; others do not matter, however far away they are.
  // Requires: parts of at least 0, some above 0; at most rows_max of them. Cost: O(m^2).
  void assign(const Gram& gram, std::span<const double> parts);

  // The largest eigenvalue. Writes to scores[i] the squared length of x_i - mu along its
  // eigenvector, 0 for rows without a part; where several eigenvalues are the largest, in the space
  // that they span, so that no choice among directions is left. Cost: O(m^3).
  double largest(std::span<double> scores);

  // Whether the largest eigenvalue is below the limit. Cost: at most m^3 / 3.
  bool is_below(double limit);

 private:
  double entry(std::size_t i, std::size_t j) const { return roots_[i] * roots_[j] * at(i, j); }
  double at(std::size_t i, std::size_t j) const { return centred_[i * count_ + j]; }

  std::size_t count_ = 0;               // rows with a part
  std::span<std::size_t> rows_;         // their numbers
  std::span<double> roots_;             // of their parts
  std::span<double> to_mean_;           // <x_i, mu>
  std::span<double> centred_;           // <x_i - mu, x_j - mu>
  std::span<double> matrix_, vectors_;  // scratch
};

}  // namespace ballast::robust
