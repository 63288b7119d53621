#include "ballast/robust/rows/mixed_rows.h"

#include <algorithm>

namespace ballast::robust {

Gram MixedRows::gram(const kernels::Weights&) {
  const Gram gram = original_.gram(original_weights_);
  const std::size_t mixed = row_count(), m = original_.row_count();
  const std::span<double> products = workspace().take<double>(mixed * mixed);
  const std::span<double> half_way = workspace().take<double>(m);
  for (std::size_t r = 0; r < mixed; ++r) {
    for (std::size_t j = 0; j < m; ++j) {
      half_way[j] = 0.0;
      for (std::size_t k = 0; k < m; ++k) half_way[j] += coefficients_(r, k) * gram.product(k, j);
    }
    for (std::size_t q = 0; q <= r; ++q) {
      double sum = 0.0;
      for (std::size_t j = 0; j < m; ++j) sum += half_way[j] * coefficients_(q, j);
      products[r * mixed + q] = products[q * mixed + r] = sum;
    }
  }
  return {products, mixed};
}

const kernels::Table& MixedRows::table() {
  if (table_ == nullptr) {
    table_ = &workspace().take_table(backend(), dim());
    original_.mix(coefficients_, *table_);
  }
  return *table_;
}

void MixedRows::squared_norms(std::span<double> norms) {
  backend().squared_distances(table(), nullptr, norms);
}

void MixedRows::squared_distances(const kernels::Vector& point, std::span<double> distances) {
  backend().squared_distances(table(), &point, distances);
}

void MixedRows::unmix(std::span<const double> mixed, std::span<double> original) const noexcept {
  std::ranges::fill(original, 0.0);
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    for (std::size_t k = 0; k < original.size(); ++k) original[k] += mixed[r] * coefficients_(r, k);
  }
}

void MixedRows::combine(std::span<const double> coefficients, kernels::Vector& out) {
  const std::span<double> original = workspace().take<double>(original_.row_count());
  unmix(coefficients, original);
  original_.combine(original, out);
}

const kernels::Vector& MixedRows::median(const kernels::Weights& weights, kernels::Vector& out) {
  backend().weighted_median(table(), weights, out);
  return out;
}

void MixedRows::trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) {
  backend().weighted_trimmed_mean(table(), weights, trim, out);
}

void MixedRows::mix(kernels::MatrixView coefficients, kernels::Table& out) {
  backend().mix(table(), coefficients, out);
}

}  // namespace ballast::robust
