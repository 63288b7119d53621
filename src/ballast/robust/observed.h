#pragma once
// What a rule may ask about the rows it aggregates. Behind it stand rows seen for the first time
// (rows/fresh_rows.h), a table that remembers what it knows from one update to the next
// (row_table.h), or mixtures of other rows (rows/mixed_rows.h), so that each rule is written once.
//
// A rule sees facts and hands vectors from one question to the next; it never sees where the rows
// or the vectors lie, which may be the memory of a device.

#include <cstdint>
#include <span>

#include "ballast/kernels/backend.h"
#include "ballast/kernels/weights.h"
#include "ballast/robust/solver/gram.h"
#include "ballast/robust/workspace.h"

namespace ballast::robust {

class Observed {
 public:
  virtual ~Observed() = default;

  virtual std::size_t row_count() const noexcept = 0;
  virtual std::size_t dim() const noexcept = 0;

  // Inner products of the rows, centred well for these weights.
  virtual Gram gram(const kernels::Weights& weights) = 0;

  // |row_i|^2 and |row_i - point|^2.
  virtual void squared_norms(std::span<double> norms) = 0;
  virtual void squared_distances(const kernels::Vector& point, std::span<double> distances) = 0;

  // The combination sum_k coefficients[k] * row_k.
  virtual void combine(std::span<const double> coefficients, kernels::Vector& out) = 0;

  // The coordinate-wise weighted median: written to `out`, or returned where it is kept anyway
  // (until the next call).
  virtual const kernels::Vector& median(const kernels::Weights& weights, kernels::Vector& out) = 0;

  // The coordinate-wise weighted mean after trimming the share `trim` at either end.
  virtual void trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) = 0;

  // Makes sum_k coefficients(r, k) * row_k the row r of `out`, for all r.
  virtual void mix(kernels::MatrixView coefficients, kernels::Table& out) = 0;

  virtual const kernels::Backend& backend() const noexcept = 0;

  // The result of the call before; null at the first one, and for rows that are seen only once. It
  // may be the very vector that the result is written to.
  virtual const kernels::Vector* previous() noexcept = 0;

  // Numbers the calls, for rules that draw random numbers.
  virtual std::uint64_t draw() const noexcept = 0;

  virtual Workspace& workspace() noexcept = 0;
};

}  // namespace ballast::robust
