#pragma once
// Watches the inequalities of Theorem 4.2's proof along a run, from the steps that the server took.
//
// Lemma B.4 (regret): sum_k alpha_k <d_k, w_{k+1} - x*> is at most
//   (|w_1 - x*|^2 - |w_{t+1} - x*|^2 - sum_k |w_k - w_{k+1}|^2) / (2 eta),
// and equal to it as long as no step was projected.
//
// Theorem B.1 (AnyTime): alpha_{1:t} (f(x_t) - f*) is at most sum_k alpha_k <grad f(x_k), w_k -
// x*>. What is missing to equality is known, too: with B(y, x) = f(y) - f(x) - <grad f(x), y - x>
// it is sum_k (alpha_k B(x*, x_k) + alpha_{1:k-1} B(x_{k-1}, x_k)), where convexity says B >= 0. So
// both are checked as equalities, up to rounding. The optimum of our problems is x* = 0.

#include <vector>

#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"
#include "ballast/verify/steps.h"

namespace ballast::verify {

class DescentWatch final : public StepObserver {
 public:
  // The problem is borrowed.
  DescentWatch(const Problem& problem, double eta) : problem_(problem), eta_(eta) {}

  void on_step(const StepRecord& record) override;

  // The largest amount so far by which the regret exceeds its bound, over D^2 / (2 eta).
  double regret_above() const noexcept { return regret_above_; }

  // The largest difference between the two while no step had to be projected, in the same unit.
  double regret_gap() const noexcept { return regret_gap_; }

  // The largest difference in the AnyTime equality, over alpha_{1:t} times the first excess.
  double anytime_gap() const noexcept { return anytime_gap_; }

  // f(x_T) - f(x*), where T is the last step: what the theorems speak of. The server already has
  // x_{T+1} then.
  double excess() const noexcept { return excess_before_; }

  // |d_t - grad f(x_t)| at t = 1, 2, ...
  const std::vector<double>& errors() const noexcept { return errors_; }

 private:
  void add_regret(const StepRecord& record);
  void add_anytime(const StepRecord& record, const DoubleVector& gradient);

  const Problem& problem_;
  double eta_;
  std::vector<double> errors_;
  bool was_projected_ = false;
  double regret_ = 0.0, first_distance_ = 0.0, moved_ = 0.0;
  double products_ = 0.0, divergences_ = 0.0;
  double first_excess_ = 0.0, excess_before_ = 0.0;
  std::vector<float> x_before_;
  double regret_above_ = 0.0, regret_gap_ = 0.0, anytime_gap_ = 0.0;
};

}  // namespace ballast::verify
