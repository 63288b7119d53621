#include "ballast/robust/mixed_rows.h"

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

kernels::RowsView MixedRows::rows() {
  if (rows_.empty()) {
    rows_ = workspace().take<const float*>(row_count());
    const std::span<float*> writable = workspace().take<float*>(row_count());
    for (std::size_t r = 0; r < row_count(); ++r) {
      writable[r] = workspace().take<float>(dim()).data();
      rows_[r] = writable[r];
    }
    original_.mix(coefficients_, kernels::MutableRowsView(writable, dim()));
  }
  return {rows_, dim()};
}

void MixedRows::squared_norms(std::span<double> norms) {
  backend().squared_distances(rows(), {}, norms);
}

void MixedRows::squared_distances(std::span<const float> point, std::span<double> distances) {
  backend().squared_distances(rows(), point, distances);
}

void MixedRows::unmix(std::span<const double> mixed, std::span<double> original) const noexcept {
  std::ranges::fill(original, 0.0);
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    for (std::size_t k = 0; k < original.size(); ++k) original[k] += mixed[r] * coefficients_(r, k);
  }
}

void MixedRows::combine(std::span<const double> coefficients, std::span<float> out) {
  const std::span<double> original = workspace().take<double>(original_.row_count());
  unmix(coefficients, original);
  original_.combine(original, out);
}

std::span<const float> MixedRows::median(const kernels::Weights& weights, std::span<float> out) {
  backend().weighted_median(rows(), weights, out);
  return out;
}

void MixedRows::trimmed_mean(const kernels::Weights& weights, double trim, std::span<float> out) {
  backend().weighted_trimmed_mean(rows(), weights, trim, out);
}

void MixedRows::mix(kernels::MatrixView coefficients, kernels::MutableRowsView out) {
  backend().mix(rows(), coefficients, out);
}

}  // namespace ballast::robust
