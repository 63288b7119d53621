#include "ballast/verify/plain_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::verify {
namespace {

double total_of(const WeightedRows& table) {
  return std::accumulate(table.weights.begin(), table.weights.end(), 0.0);
}

// Row numbers by rising key; equal keys by number.
std::vector<std::size_t> order_by(const DoubleVector& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
  return order;
}

double median_of_column(const WeightedRows& table, std::size_t column) {
  DoubleVector values;
  for (const DoubleVector& row : table.rows) values.push_back(row[column]);
  const std::vector<std::size_t> order = order_by(values);
  const double half = total_of(table) / 2.0;
  double sum = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sum += table.weights[order[k]];
    if (sum == half) return (values[order[k]] + values[order[k + 1]]) / 2.0;
    if (sum > half) return values[order[k]];
  }
  return values[order.back()];
}

DoubleVector distances_from(const DoubleVector& anchor, const WeightedRows& table) {
  DoubleVector distances;
  for (const DoubleVector& row : table.rows) distances.push_back(squared_distance(row, anchor));
  return distances;
}

}  // namespace

DoubleVector plain_cwmed(const WeightedRows& table) {
  DoubleVector median(table.rows[0].size());
  for (std::size_t j = 0; j < median.size(); ++j) median[j] = median_of_column(table, j);
  return median;
}

bool has_clear_order(const WeightedRows& table, const DoubleVector& anchor) {
  constexpr double kClear = 1e-4;
  DoubleVector distances = distances_from(anchor, table);
  std::ranges::sort(distances);
  for (std::size_t k = 1; k < distances.size(); ++k) {
    if (distances[k] - distances[k - 1] < kClear * distances[k]) return false;
  }
  return true;
}

DoubleVector plain_ctma(const WeightedRows& table, double lambda, const DoubleVector& anchor) {
  double left = (1.0 - lambda) * total_of(table);
  WeightedRows kept;
  for (const std::size_t i : order_by(distances_from(anchor, table))) {
    const double taken = std::min(left, table.weights[i]);
    if (taken <= 0.0) break;
    kept.rows.push_back(table.rows[i]);
    kept.weights.push_back(taken);
    left -= taken;
  }
  return weighted_mean(kept);
}

double sum_of_distances(const WeightedRows& table, const DoubleVector& point) {
  double sum = 0.0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    sum += table.weights[i] * std::sqrt(squared_distance(table.rows[i], point));
  }
  return sum;
}

double smallest_sum(const WeightedRows& table) {
  constexpr int kSteps = 500;
  DoubleVector point = weighted_mean(table);
  for (int step = 0; step < kSteps; ++step) {
    WeightedRows pulled{.rows = table.rows};
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const double distance = std::sqrt(squared_distance(table.rows[i], point));
      pulled.weights.push_back(table.weights[i] / std::max(distance, 1e-12));
    }
    point = weighted_mean(pulled);
  }
  double smallest = sum_of_distances(table, point);
  for (const DoubleVector& row : table.rows)
    smallest = std::min(smallest, sum_of_distances(table, row));
  return smallest;
}

}  // namespace ballast::verify
