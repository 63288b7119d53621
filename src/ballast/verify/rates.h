#pragma once
// Excess loss against the number of updates: the shape that the claims about convergence share.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ballast/verify/claim.h"
#include "ballast/verify/trial.h"

namespace ballast::verify {

struct RateSetting {
  std::string label = {};
  Problem* problem = nullptr;  // borrowed
  TrialOptions trial = {};     // without its updates and seed
  double rule_constant = 0.0;  // c of the rule, for the theorem's bound
};

struct RateCurve {
  std::vector<double> updates{};              // T
  std::vector<std::vector<double>> excess{};  // at each T, of each seed
  // At each T, mean over the seeds: what Theorem 4.2 bounds the excess by, and what its proof does
  // with the errors of the run in the place of Lemma 4.1.
  std::vector<double> bounds{}, bounds_by_errors{};

  std::vector<double> mean_excess() const { return pointwise_mean(excess); }

  // The slope of log excess against log T, over the seeds.
  Estimate slope() const;

  records::FigureCurve drawn(const std::string& label) const;
};

// Runs every setting for every T, each with eta = 1 / (4 L T), and the seeds 1, 2, ...
Result<std::vector<RateCurve>> measure_rates(const Lab& lab, std::span<const RateSetting> settings,
                                             const std::vector<std::uint64_t>& updates,
                                             std::size_t seeds);

// The line through (x, y) with this slope, for a figure.
records::FigureCurve guide(const std::string& label, std::span<const double> x, double y,
                           double slope);

}  // namespace ballast::verify
