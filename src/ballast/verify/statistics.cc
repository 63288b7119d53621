#include "ballast/verify/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ballast/base/check.h"

namespace ballast::verify {
namespace {

// Student's 97.5 % quantile for 1, 2, ... degrees of freedom. Beyond the table that for the largest
// smaller number is taken, which is wider, never narrower.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

double student_quantile(std::size_t degrees) {
  return kStudent[std::min(degrees, std::size(kStudent)) - 1];
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double log_slope(std::span<const double> x, std::span<const double> y) {
  BALLAST_CHECK(x.size() == y.size() && x.size() >= 2, "a line needs two points");
  std::vector<double> u, v;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0.0 && y[i] > 0.0)) return std::numeric_limits<double>::quiet_NaN();
    u.push_back(std::log(x[i]));
    v.push_back(std::log(y[i]));
  }
  const double u_mean = mean(u), v_mean = mean(v);
  double products = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    products += (u[i] - u_mean) * (v[i] - v_mean);
    squares += (u[i] - u_mean) * (u[i] - u_mean);
  }
  return products / squares;
}

Estimate mean_of(std::span<const double> values) {
  BALLAST_CHECK(values.size() >= 2, "an interval needs two values");
  const double centre = mean(values), count = static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  const double half =
      student_quantile(values.size() - 1) * std::sqrt(squares / (count - 1.0) / count);
  return {centre, centre - half, centre + half};
}

std::vector<double> pointwise_mean(std::span<const std::vector<double>> samples) {
  std::vector<double> sum(samples[0].size());
  for (const std::vector<double>& sample : samples) {
    BALLAST_CHECK(sample.size() == sum.size(), "samples of one length");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += sample[i];
  }
  for (double& value : sum) value /= static_cast<double>(samples.size());
  return sum;
}

Estimate over_groups(std::span<const std::vector<double>> samples, std::size_t groups,
                     const std::function<double(std::span<const double>)>& evaluate) {
  BALLAST_CHECK(groups >= 2 && samples.size() % groups == 0, "groups of one size");
  const std::size_t size = samples.size() / groups;
  std::vector<double> values;
  for (std::size_t i = 0; i < groups; ++i) {
    values.push_back(evaluate(pointwise_mean(samples.subspan(i * size, size))));
  }
  return mean_of(values);
}

}  // namespace ballast::verify
