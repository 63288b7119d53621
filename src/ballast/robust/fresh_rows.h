#pragma once
// Rows seen for the first time: every fact is computed when a rule asks for it.

#include "ballast/kernels/backend.h"
#include "ballast/robust/observed.h"

namespace ballast::robust {

class FreshRows final : public Observed {
 public:
  // The rows, the backend and the workspace outlive this object.
  FreshRows(kernels::RowsView rows, const kernels::Backend& backend, Workspace& workspace,
            std::uint64_t draw) noexcept
      : rows_(rows), backend_(backend), workspace_(workspace), draw_(draw) {}

  std::size_t row_count() const noexcept override { return rows_.row_count(); }
  std::size_t dim() const noexcept override { return rows_.dim(); }
  Gram gram(const kernels::Weights& weights) override;
  void squared_norms(std::span<double> norms) override;
  void squared_distances(std::span<const float> point, std::span<double> distances) override;
  void combine(std::span<const double> coefficients, std::span<float> out) override;
  std::span<const float> median(const kernels::Weights& weights, std::span<float> out) override;
  void trimmed_mean(const kernels::Weights& weights, double trim, std::span<float> out) override;
  void mix(kernels::MatrixView coefficients, kernels::MutableRowsView out) override;
  const kernels::Backend& backend() const noexcept override { return backend_; }
  std::uint64_t draw() const noexcept override { return draw_; }
  Workspace& workspace() noexcept override { return workspace_; }

 private:
  kernels::RowsView rows_;
  const kernels::Backend& backend_;
  Workspace& workspace_;
  std::uint64_t draw_;
  std::span<double> products_;  // empty until asked for
};

// Fills products with the inner products of all rows around a centre that suits the weights: the
// given one (empty: the origin) if it does, else a row of the core. Returns that row, or
// row_count() if the given centre was good. Requires: products of row_count()^2 doubles.
std::size_t compute_gram(kernels::RowsView rows, const kernels::Backend& backend,
                         const kernels::Weights& weights, std::span<const float> centre,
                         Workspace& workspace, std::span<double> products);

}  // namespace ballast::robust
