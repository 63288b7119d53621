#include "ballast/robust/fresh_rows.h"

namespace ballast::robust {

std::size_t compute_gram(kernels::RowsView rows, const kernels::Backend& backend,
                         const kernels::Weights& weights, std::span<const float> centre,
                         Workspace& workspace, std::span<double> products) {
  // A poor centre hides the true core behind rounding, so a new centre is judged again; each round
  // comes closer by many orders of magnitude, and floats span few of those.
  constexpr int kRoundsMax = 4;
  const std::size_t m = rows.row_count();
  const std::span<double> scratch = workspace.take<double>(2 * m);
  std::size_t centre_row = m;
  for (int round = 0; round < kRoundsMax; ++round) {
    backend.inner_products(rows, 0, m, centre, products);
    const Gram gram(products, m);
    const Gram::Core core = gram.core(weights, scratch);
    if (gram.is_well_centred(core, weights, scratch) || core.row == centre_row) break;
    centre_row = core.row;
    centre = rows.row(centre_row);
  }
  return centre_row;
}

Gram FreshRows::gram(const kernels::Weights& weights) {
  const std::size_t m = rows_.row_count();
  if (products_.empty()) {
    products_ = workspace_.take<double>(m * m);
    compute_gram(rows_, backend_, weights, {}, workspace_, products_);
  }
  return {products_, m};
}

void FreshRows::squared_norms(std::span<double> norms) {
  backend_.squared_distances(rows_, {}, norms);
}

void FreshRows::squared_distances(std::span<const float> point, std::span<double> distances) {
  backend_.squared_distances(rows_, point, distances);
}

void FreshRows::combine(std::span<const double> coefficients, std::span<float> out) {
  float* const rows[] = {out.data()};
  backend_.mix(rows_, kernels::MatrixView(coefficients, rows_.row_count()),
               kernels::MutableRowsView(rows, out.size()));
}

std::span<const float> FreshRows::median(const kernels::Weights& weights, std::span<float> out) {
  backend_.weighted_median(rows_, weights, out);
  return out;
}

void FreshRows::trimmed_mean(const kernels::Weights& weights, double trim, std::span<float> out) {
  backend_.weighted_trimmed_mean(rows_, weights, trim, out);
}

void FreshRows::mix(kernels::MatrixView coefficients, kernels::MutableRowsView out) {
  backend_.mix(rows_, coefficients, out);
}

}  // namespace ballast::robust
