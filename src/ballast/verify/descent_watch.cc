#include "ballast/verify/descent_watch.h"

#include <algorithm>
#include <cmath>

namespace ballast::verify {
namespace {

// <a, x - y>; y = 0 where it is missing.
template <typename Real>
double product(std::span<const Real> a, std::span<const float> x, std::span<const float> y = {}) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j)
    sum += a[j] * (double{x[j]} - (y.empty() ? 0.0f : y[j]));
  return sum;
}

double squared(std::span<const float> x, std::span<const float> y = {}) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += std::pow(double{x[j]} - (y.empty() ? 0.0f : y[j]), 2.0);
  }
  return sum;
}

void widen(double& gap, double value) {
  // Not std::max, which would drop a NaN.
  if (!(value <= gap)) gap = value;
}

}  // namespace

void DescentWatch::on_step(const StepRecord& record) {
  DoubleVector gradient(problem_.dim());
  problem_.expected_gradient(record.x, gradient);
  double error = 0.0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    error += std::pow(record.direction[j] - gradient[j], 2.0);
  }
  errors_.push_back(std::sqrt(error));
  add_regret(record);
  add_anytime(record, gradient);
}

void DescentWatch::add_regret(const StepRecord& record) {
  const double alpha = static_cast<double>(record.t);
  if (record.t == 1) first_distance_ = squared(record.w);
  std::vector<double> free(record.w.begin(), record.w.end());
  for (std::size_t j = 0; j < free.size(); ++j) free[j] -= eta_ * alpha * record.direction[j];
  std::vector<double> projected = free;
  optim::project<double>(problem_.set(), projected);
  was_projected_ = was_projected_ || projected != free;
  regret_ += alpha * product(record.direction, record.next_w);
  moved_ += squared(record.w, record.next_w);
  const double bound = (first_distance_ - squared(record.next_w) - moved_) / (2.0 * eta_);
  const double unit = std::pow(problem_.constants().diameter, 2.0) / (2.0 * eta_);
  widen(regret_above_, (regret_ - bound) / unit);
  if (!was_projected_) widen(regret_gap_, std::abs(regret_ - bound) / unit);
}

void DescentWatch::add_anytime(const StepRecord& record, const DoubleVector& gradient) {
  const double alpha = static_cast<double>(record.t), total = alpha * (alpha + 1.0) / 2.0;
  const double excess = problem_.excess(record.x);
  if (record.t == 1) first_excess_ = excess;
  const std::span<const double> slope(gradient);
  products_ += alpha * product(slope, record.w);
  divergences_ += alpha * (product(slope, record.x) - excess);
  if (record.t > 1) {
    divergences_ +=
        (total - alpha) * (excess_before_ - excess - product(slope, x_before_, record.x));
  }
  widen(anytime_gap_,
        std::abs(total * excess - products_ + divergences_) / (total * first_excess_));
  excess_before_ = excess;
  x_before_.assign(record.x.begin(), record.x.end());
}

}  // namespace ballast::verify
