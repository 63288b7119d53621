#pragma once
// Geometry of a table without its coordinates: the inner products of its rows relative to a centre,
// and the distances between combinations of rows that follow from them.
//
// A point is a list of coefficients c that add up to 1 and stands for sum_k c_k x_k. Distances
// between points do not depend on the centre. Everything is double precision; products are accurate
// relative to |x_i - centre| |x_j - centre|, so the centre should be as near to the bulk of the
// rows as they are to each other (see is_well_centred), however far away a few rows may be.

#include <algorithm>
#include <cstddef>
#include <span>

#include "ballast/kernels/weights.h"
#include "ballast/robust/solver/dense.h"

namespace ballast::robust {

// The smallest of the values up to which the rows hold at least half of the weight. Requires: a
// value and a weight for each row, scratch of as many doubles. Cost: O(m log m).
double weighted_median(std::span<const double> values, const kernels::Weights& weights,
                       std::span<double> scratch);

class Gram {
 public:
  // Requires: a symmetric matrix of row_count x row_count products.
  Gram(std::span<const double> products, std::size_t row_count) noexcept
      : products_(products), row_count_(row_count) {}

  std::size_t row_count() const noexcept { return row_count_; }
  double product(std::size_t i, std::size_t j) const noexcept {
    return products_[i * row_count_ + j];
  }
  // Symmetric to the last bit.
  double squared_distance(std::size_t i, std::size_t j) const noexcept {
    return std::max(0.0, product(i, i) + product(j, j) - 2.0 * product(i, j));
  }

  // |sum_k v_k x_k|^2 for coefficients v that add up to 0 (a difference of points). Leaves in
  // `along` the product of each row with that vector.
  double squared_norm(std::span<const double> v, std::span<double> along) const noexcept;

  // out[i] = the product of row i with sum_k v_k x_k.
  void multiply(std::span<const double> v, std::span<double> out) const noexcept {
    multiply_symmetric(products_, v, out);
  }

  // distances[i] = |x_i - point|^2.
  void squared_distances(std::span<const double> point, std::span<double> distances) const noexcept;

  // gains[i] = |x_i - point|^2 - |x_i - centre|^2, which is accurate where x_i is so far away that
  // its distances from the point and from the centre round to the same number.
  // Leaves in `along`, which may be `gains`, the product of each row with the point.
  void squared_gains(std::span<const double> point, std::span<double> along,
                     std::span<double> gains) const noexcept;

  // objectives[k] = sum_i p_i (|x_i - x_k| - |x_i - centre|), likewise, p being the shares.
  // Requires: scratch of row_count() doubles.
  void objectives_of_rows(const kernels::Weights& weights, std::span<double> scratch,
                          std::span<double> objectives) const noexcept;

  // |x_i - point| - |x_i - centre|, likewise, from the gain above.
  double gain(std::size_t i, double squared_gain) const noexcept;

  // The row that is nearest to half of the weight: argmin over i of the weighted median of the
  // distances from i. While honest rows hold more than half of the weight it lies among them.
  // Requires: scratch of 3 * row_count() doubles.
  struct Core {
    std::size_t row;
    // The weighted median of its squared distances; where the row itself holds half of the weight,
    // the squared distance of its nearest neighbour, infinite without any.
    double squared_radius;
  };
  Core core(const kernels::Weights& weights, std::span<double> scratch) const noexcept;

  // True if rounding is negligible at the scale of the core: its radius is not much smaller than
  // the distance of the bulk of the rows from the centre.
  bool is_well_centred(const Core& core, const kernels::Weights& weights,
                       std::span<double> scratch) const noexcept;

  // True only if that holds, found without the core at a fraction of its cost. False says nothing.
  bool is_surely_well_centred(const kernels::Weights& weights,
                              std::span<double> scratch) const noexcept;

 private:
  std::span<const double> row(std::size_t i) const noexcept {
    return products_.subspan(i * row_count_, row_count_);
  }

  std::span<const double> products_;
  std::size_t row_count_;
};

}  // namespace ballast::robust
