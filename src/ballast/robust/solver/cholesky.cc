#include "ballast/robust/solver/cholesky.h"

#include <cmath>

#include "ballast/base/target_clones.h"

namespace ballast::robust {
namespace {

// to[i] -= factor * from[i].
BALLAST_CLONES void subtract(const double* from, double factor, std::size_t count,
                             double* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] -= factor * from[i];
}

}  // namespace

bool solve_positive_definite(std::span<double> matrix, std::span<double> right, double pivot_min) {
  const std::size_t n = right.size();
  const auto row = [&](std::size_t i) { return matrix.data() + i * n; };
  // Row k of the factor is finished and at once taken from all later rows: what is taken from one
  // element comes in the order of k, whichever loop is the inner one.
  for (std::size_t k = 0; k < n; ++k) {
    double* factor = row(k);
    if (!(factor[k] > pivot_min)) return false;
    factor[k] = std::sqrt(factor[k]);
    for (std::size_t j = k + 1; j < n; ++j) factor[j] /= factor[k];
    for (std::size_t i = k + 1; i < n; ++i) subtract(factor + i, factor[i], n - i, row(i) + i);
  }
  for (std::size_t k = 0; k < n; ++k) {
    right[k] /= row(k)[k];
    subtract(row(k) + k + 1, right[k], n - k - 1, right.data() + k + 1);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= row(i)[k] * right[k];
    right[i] /= row(i)[i];
  }
  return true;
}

}  // namespace ballast::robust
