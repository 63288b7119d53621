#pragma once
// Means and slopes with their confidence.
//
// Thread-safety: pure functions.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace ballast::verify {

// A number and the interval that holds the true one with 95 % confidence. One that was computed and
// not estimated is its own interval.
struct Estimate {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;

  static Estimate exactly(double value) { return {value, value, value}; }
};

// The slope of the least-squares line through (log x, log y); NaN, which passes no check, if a
// value is not positive. Requires: at least two points, not all at one x.
double log_slope(std::span<const double> x, std::span<const double> y);

// The mean of independent values, with Student's interval. Requires: at least two values.
Estimate mean_of(std::span<const double> values);

// By how much the values of independent samples vary is unknown, so samples are cut into groups in
// order, `evaluate` is given the mean of each group, point by point, and the results are averaged.
// Requires: samples of one length; the groups, at least 2, divide the number of samples.
Estimate over_groups(std::span<const std::vector<double>> samples, std::size_t groups,
                     const std::function<double(std::span<const double>)>& evaluate);

// The mean of the samples, point by point. Requires: at least one, all of one length.
std::vector<double> pointwise_mean(std::span<const std::vector<double>> samples);

}  // namespace ballast::verify
