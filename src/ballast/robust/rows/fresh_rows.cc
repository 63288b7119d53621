#include "ballast/robust/rows/fresh_rows.h"

namespace ballast::robust {

std::size_t compute_gram(const kernels::Table& table, const kernels::Backend& backend,
                         const kernels::Weights& weights, kernels::Vector* centre,
                         Workspace& workspace, std::span<double> products) {
  // A poor centre hides the true core behind rounding, so a new centre is judged again; each round
  // comes closer by many orders of magnitude, and floats span few of those.
  constexpr int kRoundsMax = 4;
  const std::size_t m = table.row_count();
  const std::span<double> scratch = workspace.take<double>(3 * m);
  std::size_t centre_row = m;
  for (int round = 1;; ++round) {
    backend.inner_products(table, 0, m, centre, products);
    const Gram gram(products, m);
    const Gram::Core core = gram.core(weights, scratch);
    const bool is_good = gram.is_well_centred(core, weights, scratch) || core.row == centre_row;
    if (is_good || round == kRoundsMax) break;
    centre_row = core.row;
    if (centre == nullptr) centre = &workspace.take_vector(backend, table.dim());
    backend.copy_row(table, centre_row, *centre);
  }
  return centre_row;
}

Gram FreshRows::gram(const kernels::Weights& weights) {
  const std::size_t m = table_.row_count();
  if (products_.empty()) {
    products_ = workspace_.take<double>(m * m);
    compute_gram(table_, backend_, weights, nullptr, workspace_, products_);
  }
  return {products_, m};
}

void FreshRows::squared_norms(std::span<double> norms) {
  backend_.squared_distances(table_, nullptr, norms);
}

void FreshRows::squared_distances(const kernels::Vector& point, std::span<double> distances) {
  backend_.squared_distances(table_, &point, distances);
}

void FreshRows::combine(std::span<const double> coefficients, kernels::Vector& out) {
  backend_.combine(table_, coefficients, out);
}

const kernels::Vector& FreshRows::median(const kernels::Weights& weights, kernels::Vector& out) {
  backend_.weighted_median(table_, weights, out);
  return out;
}

void FreshRows::trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) {
  backend_.weighted_trimmed_mean(table_, weights, trim, out);
}

void FreshRows::mix(kernels::MatrixView coefficients, kernels::Table& out) {
  backend_.mix(table_, coefficients, out);
}

}  // namespace ballast::robust
