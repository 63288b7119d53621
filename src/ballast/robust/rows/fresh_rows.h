#pragma once
// Rows seen for the first time: every fact is computed when a rule asks for it.

#include "ballast/kernels/backend.h"
#include "ballast/robust/observed.h"

namespace ballast::robust {

class FreshRows final : public Observed {
 public:
  // The table, the backend and the workspace outlive this object. `previous` is for rows that a
  // rule made of others, whose call before has a result.
  FreshRows(const kernels::Table& table, const kernels::Backend& backend, Workspace& workspace,
            std::uint64_t draw, const kernels::Vector* previous = nullptr) noexcept
      : table_(table), backend_(backend), workspace_(workspace), draw_(draw), previous_(previous) {}

  std::size_t row_count() const noexcept override { return table_.row_count(); }
  std::size_t dim() const noexcept override { return table_.dim(); }
  Gram gram(const kernels::Weights& weights) override;
  void squared_norms(std::span<double> norms) override;
  void squared_distances(const kernels::Vector& point, std::span<double> distances) override;
  void combine(std::span<const double> coefficients, kernels::Vector& out) override;
  const kernels::Vector& median(const kernels::Weights& weights, kernels::Vector& out) override;
  void trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) override;
  void mix(kernels::MatrixView coefficients, kernels::Table& out) override;
  const kernels::Backend& backend() const noexcept override { return backend_; }
  const kernels::Vector* previous() noexcept override { return previous_; }
  std::uint64_t draw() const noexcept override { return draw_; }
  Workspace& workspace() noexcept override { return workspace_; }

 private:
  const kernels::Table& table_;
  const kernels::Backend& backend_;
  Workspace& workspace_;
  std::uint64_t draw_;
  const kernels::Vector* previous_;
  std::span<double> products_;  // empty until asked for
};

// Fills products with the inner products of all rows around a centre that suits the weights: the
// given one (none: the origin) if it does, else a row of the core, which is copied into `centre`
// where there is one. Returns that row, or row_count() if the given centre was good.
// Requires: products of row_count()^2 doubles.
std::size_t compute_gram(const kernels::Table& table, const kernels::Backend& backend,
                         const kernels::Weights& weights, kernels::Vector* centre,
                         Workspace& workspace, std::span<double> products);

}  // namespace ballast::robust
