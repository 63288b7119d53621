#include "ballast/robust/solver/median_objective.h"

#include <algorithm>
#include <cmath>

#include "ballast/robust/solver/cholesky.h"

namespace ballast::robust {
namespace {

// Of squared lengths. Rows that are nearer than this to where one looks from are there: mixtures of
// the same rows differ in the last bits, and the direction from one to the other is noise.
constexpr double kRounding = 0x1.0p-46;

// Of the largest eigenvalue; smaller ones are taken for none.
constexpr double kCurvatureMin = 1e-10;

// The Newton step from far away needs not be exact, and near the minimum a thousandth of the slope
// is as good as what the step itself leaves.
constexpr double kResidualMin = 1e-3, kResidualMax = 0.1;

double inner_product(std::span<const double> a, std::span<const double> b) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// to += factor * from.
void add_scaled(std::span<const double> from, double factor, std::span<double> to) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

}  // namespace

MedianObjective::MedianObjective(const Gram& gram, const kernels::Weights& weights,
                                 Workspace& workspace)
    : gram_(gram), weights_(weights) {
  const std::size_t m = gram.row_count();
  for (auto* vector : {&point_, &gains_, &distances_, &pulls_, &direction_, &step_, &pull_along_,
                       &roots_, &along_, &residual_, &search_, &change_, &scratch_}) {
    *vector = workspace.take<double>(m, 0.0);
  }
  if (m <= kDirectRowsMax) matrix_ = workspace.take<double>(m * m);
}

void MedianObjective::look_from(std::span<const double> point) {
  std::copy(point.begin(), point.end(), point_.begin());
  gram_.squared_gains(point, along_, gains_);
  value_ = 0.0;
  for (std::size_t i = 0; i < gains_.size(); ++i) {
    const double squared_distance = gram_.product(i, i) + gains_[i];
    const bool is_here = squared_distance <= kRounding * gram_.product(i, i);
    distances_[i] = is_here ? 0.0 : squared_distance;
    value_ += weights_.share(i) * gram_.gain(i, gains_[i]);
  }
  measure_pull();
  // The pull is sum_i p_i (y - x_i) / |y - x_i|: coefficients pull_sum * y - pulls.
  for (std::size_t i = 0; i < pulls_.size(); ++i) {
    direction_[i] = pull_sum_ * point_[i] - pulls_[i];
  }
  pull_length_ = std::sqrt(gram_.squared_norm(direction_, pull_along_));
}

void MedianObjective::look_from_origin(std::span<const double> squared_norms) {
  std::fill(point_.begin(), point_.end(), 0.0);
  const auto zero_row = std::ranges::find(squared_norms, 0.0);
  if (zero_row != squared_norms.end()) {  // then the origin is a row like any other
    point_[static_cast<std::size_t>(zero_row - squared_norms.begin())] = 1.0;
    std::copy(point_.begin(), point_.end(), step_.begin());
    return look_from(step_);
  }
  std::copy(squared_norms.begin(), squared_norms.end(), distances_.begin());
  measure_pull();
}

void MedianObjective::measure_pull() noexcept {
  pull_sum_ = weight_here_ = 0.0;
  for (std::size_t i = 0; i < pulls_.size(); ++i) {
    const double distance = std::sqrt(distances_[i]), weight = weights_.share(i);
    pulls_[i] = distance > 0.0 ? weight / distance : 0.0;
    pull_sum_ += pulls_[i];
    if (distance == 0.0) weight_here_ += weight;
  }
}

double MedianObjective::slope() const noexcept {
  return std::max(0.0, pull_length_ - weight_here_);
}

// The square of the pull's length is a sum of products that cancel, and so are the squared
// distances by which the rows' parts in it are divided.
double MedianObjective::slope_rounding() const noexcept {
  constexpr double kRootOfEpsilon = 0x1.0p-26, kDistanceRounding = 0x1.0p-50;
  double sum = 0.0;
  for (std::size_t i = 0; i < direction_.size(); ++i) {
    const double squared_norm = gram_.product(i, i);
    sum += kRootOfEpsilon * std::abs(direction_[i]) * std::sqrt(squared_norm);
    if (distances_[i] == 0.0) continue;
    sum += kDistanceRounding * weights_.share(i) * squared_norm / distances_[i];
  }
  return sum;
}

void MedianObjective::weiszfeld_step(std::span<double> next) const noexcept {
  if (pull_sum_ == 0.0) {  // every row lies here
    std::copy(point_.begin(), point_.end(), next.begin());
    return;
  }
  const double stay = weight_here_ == 0.0           ? 0.0
                      : pull_length_ > weight_here_ ? weight_here_ / pull_length_
                                                    : 1.0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] = (1.0 - stay) * pulls_[i] / pull_sum_ + stay * point_[i];
  }
}

// What both ways need besides what the look left: |y|^2, relative to the centre, and T^(1/2).
void MedianObjective::find_roots() noexcept {
  squared_norm_ = inner_product(point_, along_);
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    roots_[i] = std::sqrt(pulls_[i] / distances_[i]);
  }
}

bool MedianObjective::find_newton_step() {
  if (weight_here_ > 0.0) return false;
  if (!matrix_.empty()) return solve_directly(matrix_);
  return solve_by_conjugate_gradients(std::clamp(pull_length_, kResidualMin, kResidualMax));
}

// The Hessian is b I - sum_i t_i z_i z_i^T with z_i = y - x_i, t_i = p_i / |z_i|^3, b = pull_sum,
// and the gradient sum_i (p_i / |z_i|) z_i. A step sum_i v_i z_i solves Newton's equation if (b I -
// T Z) v = -pulls, with Z the inner products of the z_i; v = T^(1/2) w makes that symmetric: (b I -
// T^(1/2) Z T^(1/2)) w = -(p_i |z_i|)^(1/2).
bool MedianObjective::solve_directly(std::span<double> matrix) {
  const std::size_t m = pulls_.size();
  find_roots();
  // <z_i, z_j> = |y|^2 - <y, x_i> - <y, x_j> + <x_i, x_j>; the upper triangle is enough.
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = i; j < m; ++j) {
      const double product = squared_norm_ - along_[j] - along_[i] + gram_.product(i, j);
      matrix[i * m + j] = (i == j ? pull_sum_ : 0.0) - roots_[i] * roots_[j] * product;
    }
    step_[i] = -std::sqrt(weights_.share(i) * std::sqrt(distances_[i]));
  }
  if (!solve_positive_definite(matrix, step_, kCurvatureMin * pull_sum_)) return false;
  for (std::size_t i = 0; i < m; ++i) step_[i] *= roots_[i];
  return std::ranges::all_of(step_, [](double v) { return std::isfinite(v); });
}

// out = (b I - T^(1/2) Z T^(1/2)) v without the matrix.
void MedianObjective::multiply_by_hessian(std::span<const double> v,
                                          std::span<double> out) noexcept {
  double sum = 0.0, sum_along = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    scratch_[i] = roots_[i] * v[i];
    sum += scratch_[i];
    sum_along += along_[i] * scratch_[i];
  }
  gram_.multiply(scratch_, out);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double product = (squared_norm_ - along_[i]) * sum - sum_along + out[i];
    out[i] = pull_sum_ * v[i] - roots_[i] * product;
  }
}

// Starts from Weiszfeld's step, v = -pulls / b, whose residual is -T^(1/2) <z_i, pull> / b. The
// matrix is b I less one that in many dimensions is small against it, in few of low rank, so the
// iterations are few. Stopped early, or where there is no curvature, it still leaves a step that
// descends further than Weiszfeld's.
bool MedianObjective::solve_by_conjugate_gradients(double residual_max) {
  constexpr std::size_t kIterationsMax = 100;
  find_roots();
  const double point_along = inner_product(point_, pull_along_);
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    residual_[i] = -roots_[i] * (point_along - pull_along_[i]) / pull_sum_;
  }
  std::ranges::copy(residual_, search_.begin());
  std::ranges::fill(change_, 0.0);
  double squared_residual = inner_product(residual_, residual_);
  const double squared_end = residual_max * residual_max * squared_residual;
  const std::span<double> product = step_;
  for (std::size_t k = 0; k < kIterationsMax && squared_residual > squared_end; ++k) {
    multiply_by_hessian(search_, product);
    const double curvature = inner_product(search_, product);
    const double least = kCurvatureMin * pull_sum_ * inner_product(search_, search_);
    if (!(curvature > least)) break;
    const double length = squared_residual / curvature;
    add_scaled(search_, length, change_);
    add_scaled(product, -length, residual_);
    const double before = squared_residual;
    squared_residual = inner_product(residual_, residual_);
    for (std::size_t i = 0; i < search_.size(); ++i) {
      search_[i] = residual_[i] + squared_residual / before * search_[i];
    }
  }
  for (std::size_t i = 0; i < step_.size(); ++i) {
    step_[i] = roots_[i] * change_[i] - pulls_[i] / pull_sum_;
  }
  return std::ranges::all_of(step_, [](double v) { return std::isfinite(v); });
}

// y + scale * sum_i v_i (y - x_i), as coefficients.
void MedianObjective::newton_step(std::span<const double> point, double scale,
                                  std::span<double> next) const noexcept {
  double sum = 0.0;
  for (const double v : step_) sum += scale * v;
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i] = (1.0 + sum) * point[i] - scale * step_[i];
  }
}

}  // namespace ballast::robust
