#pragma once
// The paper's constants and bounds as numbers, with the factors that its O() hides taken from the
// proofs (Dahan and Levy 2024, Sections 3 and 4, appendix).

#include <cstddef>
#include <span>
#include <vector>

#include "ballast/sim/arrival.h"
#include "ballast/verify/problem.h"

namespace ballast::verify {

// c of gm and cwmed (Table 1): (1 + lambda / (1 - 2 lambda))^2. Requires: 0 <= lambda < 1/2.
double median_constant(double lambda);

// c of ctma on a rule of constant `base` (Lemma 3.1): 60 lambda (1 + base).
double ctma_constant(double lambda, double base);

// What the bounds ask about the arrivals of a run.
struct Delays {
  // The largest time between two arrivals of an honest worker over the mean up to then. This is all
  // that the proof of Theorem 4.1 needs of K, the ratio of a worker's longest to its shortest
  // delay, and is never larger.
  double spread = 1.0;
  // tau_t^max at t = 1, 2, ...: over the rows that exist, arrivals since the model was made that
  // the row was computed on.
  std::vector<double> longest{};

  // mu_max: its mean.
  double mean_longest() const;
};

// With the paper's reply: at its arrival t a worker is given x_t; the first model is x_1.
Delays delays_of(std::span<const sim::Arrival> arrivals, const sim::Population& workers);

// sigma~^2 = 2 sigma^2 + 32 D^2 K^2 sigma_L^2 (Theorem 4.1).
double estimator_variance(const Constants& constants, double delay_spread);

struct BoundOptions {
  Constants constants = {};
  double rule_constant = 0.0;  // c_lambda
  std::size_t worker_count = 1;
  double eta = 0.0;
  // The weight of the honest rows is at least kept * t at step t; 1 - lambda if weights are counts.
  double kept = 0.5;
  // That weight itself at t = 1, 2, ..., where it is known.
  std::vector<double> honest_weight{};
};

// What bounds E|d_t - grad f(x_t)|^2 (Lemma 4.1; in the proof, with t_G >= kept * t):
//   (12 c m + 4) sigma~^2 / (kept t) + (384 c + 64) (tau_t^max D L)^2 / t^2.
// Requires: 1 <= t <= delays.longest.size(); honest weights up to t, if any.
double aggregate_error_bound(const BoundOptions& options, const Delays& delays, std::size_t t);

// What bounds f(x_T) - f(x*) in every single run whose errors |d_t - grad f(x_t)| are these, t = 1
// ... T (Theorem 4.2 up to where Lemma 4.1 is put in: Eq. (19), Lemma B.6, alpha_{1:T} = T (T + 1)
// / 2):
//   4 / (T (T + 1)) * (D^2 / (2 eta) + T G* D + D sum_t t |d_t - grad f(x_t)|).
double excess_bound_by_errors(const Constants& constants, double eta,
                              std::span<const double> errors);

// What bounds E f(x_T) - f(x*) (Theorem 4.2 with the proof's factors): the same with the square
// roots of aggregate_error_bound(t).
double excess_bound(const BoundOptions& options, const Delays& delays);

}  // namespace ballast::verify
