#include "ballast/attacks/weighted_moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

std::vector<double> shares(std::span<const std::uint64_t> counts) {
  double total = 0.0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  BALLAST_CHECK(total > 0.0, "no honest updates are counted");
  std::vector<double> shares;
  for (const std::uint64_t count : counts) shares.push_back(static_cast<double>(count) / total);
  return shares;
}

std::vector<double> mean(kernels::RowsView rows, std::span<const double> shares) {
  BALLAST_CHECK(rows.row_count() == shares.size(), "rows and counts differ in number");
  std::vector<double> mean(rows.dim());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::span<const float> row = rows.row(i);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += shares[i] * row[j];
  }
  return mean;
}

// Squares of differences of floats fit into a double, whatever the floats.
std::vector<double> variance(kernels::RowsView rows, std::span<const double> shares,
                             std::span<const double> mean) {
  std::vector<double> variance(rows.dim());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::span<const float> row = rows.row(i);
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double difference = row[j] - mean[j];
      variance[j] += shares[i] * difference * difference;
    }
  }
  return variance;
}

}  // namespace

float saturate(double value) noexcept {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLargest, kLargest));
}

void write_scaled_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double scale,
                       std::span<float> out) {
  const auto centre = mean(rows, shares(counts));
  BALLAST_CHECK(out.size() == centre.size(), "the update has the wrong size");
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = saturate(scale * centre[j]);
}

void write_shifted_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double z,
                        std::span<float> out) {
  const auto weights = shares(counts);
  const auto centre = mean(rows, weights);
  const auto squares = variance(rows, weights, centre);
  BALLAST_CHECK(out.size() == centre.size(), "the update has the wrong size");
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j] = saturate(centre[j] - z * std::sqrt(squares[j]));
  }
}

}  // namespace ballast::attacks
