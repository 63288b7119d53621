#include "ballast/robust/solver/median_objective.h"

#include <algorithm>
#include <cmath>

#include "ballast/robust/solver/cholesky.h"

namespace ballast::robust {
namespace {

// Of squared lengths. Rows that are nearer than this to where one looks from are there: mixtures of
// the same rows differ in the last bits, and the direction from one to the other is noise.
constexpr double kRounding = 0x1.0p-46;

}  // namespace

MedianObjective::MedianObjective(const Gram& gram, const kernels::Weights& weights,
                                 Workspace& workspace)
    : gram_(gram), weights_(weights) {
  const std::size_t m = gram.row_count();
  for (auto* vector : {&point_, &gains_, &distances_, &pulls_, &direction_, &roots_, &step_}) {
    *vector = workspace.take<double>(m, 0.0);
  }
  matrix_ = workspace.take<double>(m * m);
}

void MedianObjective::look_from(std::span<const double> point) {
  std::copy(point.begin(), point.end(), point_.begin());
  gram_.squared_gains(point, gains_);
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
  pull_length_ = std::sqrt(gram_.squared_norm(direction_));
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

// The Hessian is b I - sum_i t_i z_i z_i^T with z_i = y - x_i, t_i = p_i / |z_i|^3, b = pull_sum,
// and the gradient sum_i (p_i / |z_i|) z_i. A step sum_i v_i z_i solves Newton's equation if (b I -
// T Z) v = -pulls, with Z the inner products of the z_i; v = T^(1/2) w makes that symmetric: (b I -
// T^(1/2) Z T^(1/2)) w = -(p_i |z_i|)^(1/2).
bool MedianObjective::find_newton_step() {
  const std::size_t m = pulls_.size();
  if (weight_here_ > 0.0) return false;
  // <z_i, z_j> = |y|^2 - <y, x_i> - <y, x_j> + <x_i, x_j>, all relative to the centre.
  const std::span<double> along = direction_;
  double norm = 0.0;
  for (std::size_t i = 0; i < m; ++i) {
    along[i] = 0.0;
    for (std::size_t j = 0; j < m; ++j) along[i] += point_[j] * gram_.product(i, j);
    norm += point_[i] * along[i];
  }
  for (std::size_t i = 0; i < m; ++i) roots_[i] = std::sqrt(pulls_[i] / distances_[i]);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      const double product = norm - along[i] - along[j] + gram_.product(i, j);
      matrix_[i * m + j] = (i == j ? pull_sum_ : 0.0) - roots_[i] * roots_[j] * product;
    }
    step_[i] = -std::sqrt(weights_.share(i) * std::sqrt(distances_[i]));
  }
  if (!solve_positive_definite(matrix_, step_, 1e-10 * pull_sum_)) return false;
  for (std::size_t i = 0; i < m; ++i) step_[i] *= roots_[i];
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
