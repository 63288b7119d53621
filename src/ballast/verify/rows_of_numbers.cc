#include "ballast/verify/rows_of_numbers.h"

#include <numeric>

#include "ballast/robust/aggregate.h"

namespace ballast::verify {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

DoubleVector weighted_mean(const WeightedRows& table) {
  const double total = std::accumulate(table.weights.begin(), table.weights.end(), 0.0);
  DoubleVector mean(table.rows[0].size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (std::size_t j = 0; j < mean.size(); ++j) {
      mean[j] += table.weights[i] / total * table.rows[i][j];
    }
  }
  return mean;
}

double weighted_spread(const WeightedRows& table, std::span<const double> point) {
  const double total = std::accumulate(table.weights.begin(), table.weights.end(), 0.0);
  double sum = 0.0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    sum += table.weights[i] / total * squared_distance(table.rows[i], point);
  }
  return sum;
}

Result<DoubleVector> RuleBench::apply(const robust::Rule& rule, const WeightedRows& table) {
  rows_.resize(table.rows.size());
  pointers_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].assign(table.rows[i].begin(), table.rows[i].end());
    pointers_.push_back(rows_[i].data());
  }
  out_.resize(table.rows[0].size());
  BALLAST_TRY([[maybe_unused]] const auto report,
              robust::aggregate(rule, {pointers_, out_.size()}, table.weights, out_, *backend_,
                                workspace_));
  return DoubleVector(out_.begin(), out_.end());
}

}  // namespace ballast::verify
