#include "ballast/robust/solver/cholesky.h"

#include <cmath>

namespace ballast::robust {

bool solve_positive_definite(std::span<double> matrix, std::span<double> right, double pivot_min) {
  const std::size_t n = right.size();
  const auto a = [&](std::size_t i, std::size_t j) -> double& { return matrix[i * n + j]; };
  for (std::size_t j = 0; j < n; ++j) {
    double pivot = a(j, j);
    for (std::size_t k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
    if (!(pivot > pivot_min)) return false;
    a(j, j) = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= a(i, k) * a(j, k);
      a(i, j) = sum / a(j, j);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= a(i, k) * right[k];
    right[i] /= a(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= a(k, i) * right[k];
    right[i] /= a(i, i);
  }
  return true;
}

}  // namespace ballast::robust
