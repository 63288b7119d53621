#pragma once
// Rows that are combinations of other rows: what nnm and bucketing hand to their base rule.
// Geometry follows from the inner products of the original rows; coordinates are computed only for
// rules that look at them.

#include "ballast/kernels/backend.h"
#include "ballast/robust/observed.h"

namespace ballast::robust {

class MixedRows final : public Observed {
 public:
  // Row r is sum_k coefficients(r, k) * original row k; the coefficients of a row add up to 1.
  // `original_weights` are those of the original rows, which decide how they are centred.
  MixedRows(Observed& original, const kernels::Weights& original_weights,
            std::span<const double> coefficients) noexcept
      : original_(original),
        original_weights_(original_weights),
        coefficients_(coefficients, original.row_count()) {}

  std::size_t row_count() const noexcept override { return coefficients_.rows(); }
  std::size_t dim() const noexcept override { return original_.dim(); }
  Gram gram(const kernels::Weights& weights) override;
  void squared_norms(std::span<double> norms) override;
  void squared_distances(const kernels::Vector& point, std::span<double> distances) override;
  void combine(std::span<const double> coefficients, kernels::Vector& out) override;
  const kernels::Vector& median(const kernels::Weights& weights, kernels::Vector& out) override;
  void trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) override;
  void mix(kernels::MatrixView coefficients, kernels::Table& out) override;
  const kernels::Backend& backend() const noexcept override { return original_.backend(); }
  const kernels::Vector* previous() noexcept override { return original_.previous(); }
  std::uint64_t draw() const noexcept override { return original_.draw(); }
  Workspace& workspace() noexcept override { return original_.workspace(); }

  // Turns coefficients of the mixed rows into coefficients of the original ones.
  void unmix(std::span<const double> mixed, std::span<double> original) const noexcept;

 private:
  const kernels::Table& table();

  Observed& original_;
  const kernels::Weights& original_weights_;
  kernels::MatrixView coefficients_;
  kernels::Table* table_ = nullptr;  // null until a rule looks at coordinates
};

}  // namespace ballast::robust
