#pragma once
// Private to kernels/: what the backends in host memory compute, on spans. reference/ has the plain
// loops, cpu/ the same with SIMD and threads; host_backend.h puts either behind kernels::Backend.
//
// backend.h says what the operations of the same names compute and require.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "ballast/kernels/host/median_state.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::host {

// One step of a server that averages its iterates.
struct StepVectors {
  std::span<const float> w, direction, x;
  std::span<float> next_w, next_x;
};

// One correction of an estimator; next may be one of the others.
struct CorrectionSpans {
  std::span<const float> gradient, before, reference;
  std::span<float> next;
};

// A sum of coefficients times rows, not made yet.
struct Combination {
  RowsView rows;
  std::span<const double> coefficients;
};

class Primitives {
 public:
  virtual ~Primitives() = default;

  virtual std::string_view name() const noexcept = 0;

  virtual bool all_finite(std::span<const float> values) const = 0;

  // Copies the values, in one pass with the question whether all are finite. False if one is not;
  // what `to` holds is then not to be used. Requires: to.size() == from.size().
  virtual bool copy_finite(std::span<const float> from, std::span<float> to) const = 0;

  // An empty centre, or point, is the origin.
  virtual void inner_products(RowsView rows, std::size_t first, std::size_t last,
                              std::span<const float> centre, std::span<double> products) const = 0;
  virtual void squared_distances(RowsView rows, std::span<const float> point,
                                 std::span<double> distances) const = 0;

  virtual void mix(RowsView rows, MatrixView coefficients, MutableRowsView out) const = 0;

  virtual void weighted_median(RowsView rows, const Weights& weights,
                               std::span<float> out) const = 0;

  // The same result, found faster when median[] already holds a value near it (any finite value is
  // allowed). Where `state` is given and the weights are narrow it is reset and filled for
  // update_median.
  virtual void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                             MedianState* state) const = 0;

  // The same result after one row changed, from `median` and `state` as the last refine_median or
  // update_median left them. Requires: narrow weights, state.is_packed() as the total asks for.
  // Returns how much smaller the share of coordinates was for which the other rows had to be read
  // than that at which refine_median would have been as fast.
  virtual double update_median(RowsView rows, const Weights& weights, const RowChange& change,
                               std::span<float> median, MedianState& state) const = 0;

  virtual void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                                     std::span<float> out) const = 0;

  virtual bool descend(std::span<const float> w, std::span<const float> direction, double rate,
                       std::span<float> next) const = 0;
  // The same bits as a mixture that is written and then descended along, in one pass: the direction
  // is not written anywhere.
  virtual bool descend_along(std::span<const float> w, const Combination& direction, double rate,
                             std::span<float> next) const = 0;
  virtual bool average(std::span<const float> newest, std::span<const float> before, double share,
                       std::span<float> next) const = 0;
  virtual bool descend_and_average(const StepVectors& vectors, double rate, double share) const = 0;

  // Returns whether every result is finite.
  virtual bool correct(const CorrectionSpans& spans, double keep) const = 0;
};

std::unique_ptr<Primitives> make_reference_primitives();
std::unique_ptr<Primitives> make_cpu_primitives(std::size_t threads);

}  // namespace ballast::kernels::host
