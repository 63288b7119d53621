#pragma once
// One look at the objective of the geometric median, f(y) = sum_i p_i |y - x_i| with sum p = 1,
// from a point given by coefficients, and the steps that can be taken from there.

#include <span>

#include "ballast/kernels/weights.h"
#include "ballast/robust/solver/gram.h"
#include "ballast/robust/workspace.h"

namespace ballast::robust {

class MedianObjective {
 public:
  // Memory is taken from the workspace once; `gram` and `weights` outlive this object.
  MedianObjective(const Gram& gram, const kernels::Weights& weights, Workspace& workspace);

  // Looks from the point with these coefficients.
  void look_from(std::span<const double> point);

  // Looks from the origin, given the squared norms of the rows. Only weiszfeld_step() may follow.
  void look_from_origin(std::span<const double> squared_norms);

  // After a look: the objective less that at the centre of the inner products (so that one row far
  // away does not round the others' part away), and the length of the shortest subgradient.
  double value() const noexcept { return value_; }
  double slope() const noexcept;

  // After a look_from: by how much rounding may have changed the slope. Next to a row it is the
  // difference of large numbers.
  double slope_rounding() const noexcept;

  // After a look: Weiszfeld's next point, in the form of Vardi and Zhang where the look was from a
  // row (which then may be the next point too).
  void weiszfeld_step(std::span<double> next) const noexcept;

  // After a look_from: finds the Newton step from there. False if there is none, because the look
  // was from a row or the rows lie on a line. For up to kDirectRowsMax rows by Cholesky's
  // factorisation, m^3 / 6 multiplications, for more by conjugate gradients, m^2 for each of the
  // few iterations, and then only as exactly as the next step can use.
  static constexpr std::size_t kDirectRowsMax = 64;
  bool find_newton_step();

  // The two ways, for any number of rows; tests compare them. `residual_max` is relative to the
  // residual of Weiszfeld's step, from which the iteration starts.
  // Requires: a look_from a point that is not a row; for the direct one, a matrix of m x m numbers.
  bool solve_directly(std::span<double> matrix);
  bool solve_by_conjugate_gradients(double residual_max);

  // `point`, from which the step was found, plus `scale` times that step.
  void newton_step(std::span<const double> point, double scale,
                   std::span<double> next) const noexcept;

 private:
  void measure_pull() noexcept;
  void find_roots() noexcept;
  void multiply_by_hessian(std::span<const double> v, std::span<double> out) noexcept;

  const Gram& gram_;
  const kernels::Weights& weights_;
  std::span<double> point_, gains_, distances_, pulls_, direction_, step_;
  std::span<double> pull_along_;  // the product of each row with the pull
  std::span<double> roots_;       // T^(1/2) of the Newton step
  std::span<double> along_;       // the product of each row with the point
  std::span<double> residual_, search_, change_, scratch_;  // of the conjugate gradients
  std::span<double> matrix_;                                // empty for many rows
  double value_ = 0.0;
  double squared_norm_ = 0.0;  // of the point, after find_roots()
  double pull_sum_ = 0.0;      // sum of p_i / |y - x_i| over the rows not at y
  double weight_here_ = 0.0;   // of the rows at y
  double pull_length_ = 0.0;   // |sum of p_i (y - x_i) / |y - x_i|| over the rows not at y
};

}  // namespace ballast::robust
