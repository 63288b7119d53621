#include "ballast/robust/solver/dense.h"

#include <algorithm>
#include <cmath>

#include "ballast/base/target_clones.h"

namespace ballast::robust {
namespace {

constexpr std::size_t kAtOnce = 4;  // rows of the matrix, so that `out` is read and written less

BALLAST_CLONES void add_rows(const double* matrix, const double* vector, std::size_t size,
                             double* __restrict out) {
  const double *a = matrix, *b = a + size, *c = b + size, *d = c + size;
  for (std::size_t i = 0; i < size; ++i) {
    out[i] =
        (((out[i] + vector[0] * a[i]) + vector[1] * b[i]) + vector[2] * c[i]) + vector[3] * d[i];
  }
}

BALLAST_CLONES void add_row(const double* row, double factor, std::size_t size,
                            double* __restrict out) {
  for (std::size_t i = 0; i < size; ++i) out[i] += factor * row[i];
}

BALLAST_CLONES void distances_from(const double* products, const double* squared_norms,
                                   double squared_norm, std::size_t size,
                                   double* __restrict distances) {
  for (std::size_t j = 0; j < size; ++j) {
    const double squared = squared_norm + squared_norms[j] - 2.0 * products[j];
    distances[j] = squared > 0.0 ? squared : 0.0;
  }
}

BALLAST_CLONES std::uint64_t sum_near(const double* products, const double* squared_norms,
                                      double squared_norm, const std::uint64_t* units, double bound,
                                      std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < size; ++j) {
    const double squared = squared_norm + squared_norms[j] - 2.0 * products[j];
    sum += (squared > 0.0 ? squared : 0.0) < bound ? units[j] : 0;
  }
  return sum;
}

BALLAST_CLONES void add_gains(const double* products, const double* squared_norms,
                              double squared_norm, double share, std::size_t size,
                              double* __restrict objectives) {
  const double norm = std::sqrt(squared_norm);
  for (std::size_t k = 0; k < size; ++k) {
    const double squared_gain = squared_norms[k] - 2.0 * products[k];
    const double squared = squared_norm + squared_gain;
    const double sum = norm + std::sqrt(squared > 0.0 ? squared : 0.0);
    objectives[k] += share * (sum > 0.0 ? squared_gain / sum : 0.0);
  }
}

}  // namespace

void multiply_symmetric(std::span<const double> matrix, std::span<const double> vector,
                        std::span<double> out) noexcept {
  const std::size_t m = out.size();
  std::ranges::fill(out, 0.0);
  std::size_t j = 0;
  for (; j + kAtOnce <= m; j += kAtOnce) {
    const double* const v = vector.data() + j;
    if (v[0] == 0.0 && v[1] == 0.0 && v[2] == 0.0 && v[3] == 0.0) continue;  // a row's own point
    add_rows(matrix.data() + j * m, vector.data() + j, m, out.data());
  }
  for (; j < m; ++j) add_row(matrix.data() + j * m, vector[j], m, out.data());
}

void distances_from_row(std::span<const double> products, std::span<const double> squared_norms,
                        std::size_t row, std::span<double> distances) noexcept {
  distances_from(products.data(), squared_norms.data(), squared_norms[row], distances.size(),
                 distances.data());
}

std::uint64_t weight_near_row(std::span<const double> products,
                              std::span<const double> squared_norms, std::size_t row,
                              std::span<const std::uint64_t> units, double bound) noexcept {
  return sum_near(products.data(), squared_norms.data(), squared_norms[row], units.data(), bound,
                  units.size());
}

void add_gains_at_rows(const SeenRow& row, std::span<const double> squared_norms,
                       std::span<double> objectives) noexcept {
  add_gains(row.products.data(), squared_norms.data(), row.squared_norm, row.share,
            objectives.size(), objectives.data());
}

}  // namespace ballast::robust
