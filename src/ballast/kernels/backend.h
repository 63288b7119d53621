#pragma once
// The numeric primitives that the aggregation rules stand on, behind one door. reference/ is double
// precision and plain loops; cpu/ is SIMD and threads; cuda/ is the seam for a GPU. A test holds
// them together. All are deterministic: no result depends on the number of threads.
//
// Requires, for every call: at least one row, dim >= 1, every value finite, outputs sized as stated
// and not overlapping the inputs. Finite input of any size gives finite output.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/kernels/median_state.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const noexcept = 0;

  // True if no value is NaN or infinite. This and copy_finite take unchecked values.
  virtual bool all_finite(std::span<const float> values) const = 0;

  // Copies the values, in one pass with the question whether all are finite. False if one is not;
  // what `to` holds is then not to be used. Requires: to.size() == from.size().
  virtual bool copy_finite(std::span<const float> from, std::span<float> to) const = 0;

  // products[j] = <row_i - centre, row_j - centre> for the rows i of [first, last), all j: the rows
  // of a Gram matrix, laid out (last - first) x m. An empty centre is the origin.
  virtual void inner_products(RowsView rows, std::size_t first, std::size_t last,
                              std::span<const float> centre, std::span<double> products) const = 0;

  // distances[i] = |row_i - point|^2. An empty point is the origin.
  virtual void squared_distances(RowsView rows, std::span<const float> point,
                                 std::span<double> distances) const = 0;

  // out_r = sum over k of coefficients(r, k) * row_k, added in the order of k in double precision
  // and saturated to the largest finite float.
  virtual void mix(RowsView rows, MatrixView coefficients, MutableRowsView out) const = 0;

  // out[j] = the weighted median of column j: the value at which the cumulative weight first
  // exceeds half, or the mean of the two neighbours when some prefix weighs exactly half. Never -0.
  virtual void weighted_median(RowsView rows, const Weights& weights,
                               std::span<float> out) const = 0;

  // The same result, found faster when median[] already holds a value near it (any finite value is
  // allowed). Where `state` is given and the weights are narrow it is reset and filled for
  // update_median.
  virtual void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                             MedianState* state) const = 0;

  // The same result after one row changed, from `median` and `state` as the last refine_median or
  // update_median left them. Requires: narrow weights, state.is_packed() as the total asks for.
  // Returns the share of coordinates for which the other rows had to be read.
  virtual double update_median(RowsView rows, const Weights& weights, const RowChange& change,
                               std::span<float> median, MedianState& state) const = 0;

  // out[j] = the mean of column j after the share `trim` of the weight was cut from either end,
  // splitting the rows at the cuts. Requires: 0 <= trim < 1/2.
  virtual void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                                     std::span<float> out) const = 0;
};

std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_cpu_backend(std::size_t threads);

// An error in builds without CUDA.
Result<std::unique_ptr<Backend>> make_cuda_backend();

}  // namespace ballast::kernels
