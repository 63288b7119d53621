#include "ballast/robust/solver/gram.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace ballast::robust {
namespace {

// Of squared lengths: double precision leaves about 1e-15 of them; 1e-6 keeps nine digits.
constexpr double kRadiusRatioMin = 1e-6;

}  // namespace

double weighted_median(std::span<const double> values, const kernels::Weights& weights,
                       std::span<double> scratch) {
  const std::span<double> sorted = scratch.first(values.size());
  std::copy(values.begin(), values.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.end());
  const auto weight_through = [&](double pivot) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= pivot) sum += weights.units()[i];
    }
    return sum;
  };
  return *std::partition_point(sorted.begin(), sorted.end(), [&](double pivot) {
    return 2 * weight_through(pivot) < weights.total();
  });
}

double Gram::squared_norm(std::span<const double> v, std::span<double> along) const noexcept {
  multiply(v, along);
  double sum = 0.0;
  for (std::size_t i = 0; i < row_count_; ++i) sum += v[i] * along[i];
  return std::max(0.0, sum);
}

void Gram::squared_distances(std::span<const double> point,
                             std::span<double> distances) const noexcept {
  squared_gains(point, distances, distances);
  for (std::size_t i = 0; i < row_count_; ++i) {
    distances[i] = std::max(0.0, product(i, i) + distances[i]);
  }
}

void Gram::squared_gains(std::span<const double> point, std::span<double> along,
                         std::span<double> gains) const noexcept {
  multiply(point, along);
  double norm = 0.0;
  for (std::size_t i = 0; i < row_count_; ++i) norm += point[i] * along[i];
  for (std::size_t i = 0; i < row_count_; ++i) gains[i] = -2.0 * along[i] + norm;
}

void Gram::objectives_of_rows(const kernels::Weights& weights, std::span<double> scratch,
                              std::span<double> objectives) const noexcept {
  const std::span<double> norms = scratch.first(row_count_);
  for (std::size_t i = 0; i < row_count_; ++i) norms[i] = product(i, i);
  std::ranges::fill(objectives, 0.0);
  for (std::size_t i = 0; i < row_count_; ++i) {
    add_gains_at_rows({row(i), norms[i], weights.share(i)}, norms, objectives);
  }
}

double Gram::gain(std::size_t i, double squared_gain) const noexcept {
  const double from_centre = product(i, i);
  const double from_point = std::max(0.0, from_centre + squared_gain);
  const double sum = std::sqrt(from_centre) + std::sqrt(from_point);
  return sum > 0.0 ? squared_gain / sum : 0.0;
}

// A row is nearer to half of the weight than the best so far if the rows nearer to it than that
// radius hold half. Only then its own radius is found, which takes a sort.
Gram::Core Gram::core(const kernels::Weights& weights, std::span<double> scratch) const noexcept {
  const std::span<double> norms = scratch.first(row_count_);
  const std::span<double> distances = scratch.subspan(row_count_, row_count_);
  for (std::size_t i = 0; i < row_count_; ++i) norms[i] = product(i, i);
  Core best{0, std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < row_count_; ++i) {
    if (i > 0 && 2 * weight_near_row(row(i), norms, i, weights.units(), best.squared_radius) <
                     weights.total()) {
      continue;
    }
    distances_from_row(row(i), norms, i, distances);
    best = {i, weighted_median(distances, weights, scratch.subspan(2 * row_count_))};
  }
  if (2 * weights.units()[best.row] >= weights.total()) {
    best.squared_radius = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < row_count_; ++j) {
      if (j == best.row) continue;
      best.squared_radius = std::min(best.squared_radius, squared_distance(best.row, j));
    }
  }
  return best;
}

// Half of the weight within a radius of the core is within twice that of each row there; and rows
// that hold more than half of the weight together have one of them there. So it is enough that none
// of those has half of the weight within twice the least radius, and a little more for rounding.
bool Gram::is_surely_well_centred(const kernels::Weights& weights,
                                  std::span<double> scratch) const noexcept {
  constexpr double kSquaredRatio = 4.01;
  const std::span<double> norms = scratch.first(row_count_);
  for (std::size_t i = 0; i < row_count_; ++i) norms[i] = product(i, i);
  const double norm = weighted_median(norms, weights, scratch.subspan(row_count_));
  const double bound = kSquaredRatio * kRadiusRatioMin * norm;
  std::uint64_t seen = 0;
  for (std::size_t left = row_count_; 2 * seen <= weights.total(); --left) {
    const std::size_t i = left - 1;
    const std::uint64_t own = weights.units()[i];
    const std::uint64_t near = weight_near_row(row(i), norms, i, weights.units(), bound);
    if (2 * std::max(own, near) >= weights.total()) return false;
    seen += own;
  }
  return true;
}

bool Gram::is_well_centred(const Core& core, const kernels::Weights& weights,
                           std::span<double> scratch) const noexcept {
  const std::span<double> norms = scratch.first(row_count_);
  for (std::size_t i = 0; i < row_count_; ++i) norms[i] = product(i, i);
  const double norm = weighted_median(norms, weights, scratch.subspan(row_count_));
  return core.squared_radius >= kRadiusRatioMin * norm;
}

}  // namespace ballast::robust
