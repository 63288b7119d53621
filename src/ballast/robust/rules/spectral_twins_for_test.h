#pragma once
// smea, caf and dnc as rules.h defines them, written down plainly: covariance matrices over the
// coordinates, where the library never leaves inner products of rows, and all sets of rows, where
// it searches. No code is shared with the library.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ballast/robust/rules/brute_force_for_test.h"

namespace ballast::robust::brute_force {

// sum_i p_i (x_i - mu)(x_i - mu)^T.
inline Table scatter(const Table& rows, const Vector& parts) {
  const std::size_t dim = rows.front().size();
  const Vector mu = mean(rows, parts);
  Table matrix(dim, Vector(dim, 0.0));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      for (std::size_t k = 0; k < dim; ++k) {
        matrix[j][k] += parts[i] * (rows[i][j] - mu[j]) * (rows[i][k] - mu[k]);
      }
    }
  }
  return matrix;
}

struct Eigen {
  Vector values;
  Table vectors;  // vectors[k] belongs to values[k]
};

// Jacobi's classical method: again and again turn away the largest element off the diagonal.
inline Eigen eigen(Table a) {
  const std::size_t n = a.size();
  Table v(n, Vector(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) v[i][i] = 1.0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::size_t p = 0, q = 0;
    double largest = 0.0, trace = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      trace += std::abs(a[i][i]);
      for (std::size_t j = i + 1; j < n; ++j) {
        if (std::abs(a[i][j]) > largest) largest = std::abs(a[i][j]), p = i, q = j;
      }
    }
    if (largest <= 1e-17 * trace) break;
    const double angle = 0.5 * std::atan2(2.0 * a[p][q], a[q][q] - a[p][p]);
    const double c = std::cos(angle), s = std::sin(angle);
    Table b = a;
    for (std::size_t k = 0; k < n; ++k) {
      b[k][p] = c * a[k][p] - s * a[k][q];
      b[k][q] = s * a[k][p] + c * a[k][q];
    }
    a = b;
    for (std::size_t k = 0; k < n; ++k) {
      a[p][k] = c * b[p][k] - s * b[q][k];
      a[q][k] = s * b[p][k] + c * b[q][k];
    }
    const Table before = v;
    for (std::size_t k = 0; k < n; ++k) {
      v[p][k] = c * before[p][k] - s * before[q][k];
      v[q][k] = s * before[p][k] + c * before[q][k];
    }
  }
  Eigen result{{}, v};
  for (std::size_t i = 0; i < n; ++i) result.values.push_back(a[i][i]);
  return result;
}

inline double largest_eigenvalue(const Table& rows, const Vector& parts) {
  const Vector values = eigen(scatter(rows, parts)).values;
  return std::max(0.0, *std::max_element(values.begin(), values.end()));
}

// Squared lengths of x_i - mu along the widest direction, or in the space of the widest ones.
inline Vector widest_scores(const Table& rows, const Vector& parts) {
  const Vector mu = mean(rows, parts);
  const Eigen found = eigen(scatter(rows, parts));
  const double largest = *std::max_element(found.values.begin(), found.values.end());
  Vector scores(rows.size(), 0.0);
  for (std::size_t k = 0; k < found.values.size(); ++k) {
    if (found.values[k] < (1.0 - 1e-9) * largest) continue;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double along = 0.0;
      for (std::size_t j = 0; j < mu.size(); ++j)
        along += (rows[i][j] - mu[j]) * found.vectors[k][j];
      scores[i] += along * along;
    }
  }
  return scores;
}

// The smallest largest eigenvalue of a scatter over all sets of enough weight, and its set.
struct SmeaSet {
  double value = std::numeric_limits<double>::infinity();
  unsigned set = 0;
};
inline double scatter_value(const Table& rows, const Vector& weights, unsigned set) {
  Vector parts = weights;
  for (std::size_t i = 0; i < rows.size(); ++i) parts[i] = (set >> i & 1u) ? weights[i] : 0.0;
  return largest_eigenvalue(rows, parts);
}
inline SmeaSet smea(const Table& rows, const Vector& weights, double lambda) {
  SmeaSet best;
  for (unsigned set = 1; set < 1u << rows.size(); ++set) {
    if (weight_of(weights, set) < (1.0 - lambda) * sum(weights) * (1.0 - 1e-12)) continue;
    const double value = scatter_value(rows, weights, set);
    if (value < best.value) best = {value, set};
  }
  return best;
}

inline Vector caf(const Table& rows, const Vector& weights, double lambda) {
  Vector factors(rows.size(), 1.0), best;
  double smallest = std::numeric_limits<double>::infinity();
  for (bool is_first = true;; is_first = false) {
    Vector parts;
    for (std::size_t i = 0; i < rows.size(); ++i) parts.push_back(factors[i] * weights[i]);
    if (!is_first && sum(parts) <= ((1.0 - 2.0 * lambda) + 1e-12) * sum(weights)) return best;
    const double value = largest_eigenvalue(rows, parts) / sum(parts);
    if (value < (1.0 - 1e-9) * smallest) smallest = value, best = mean(rows, parts);
    const Vector scores = widest_scores(rows, parts);
    double largest = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (factors[i] > 0.0) largest = std::max(largest, scores[i]);
    }
    if (value <= 1e-14 * scale_of(rows) * scale_of(rows)) return best;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double rest = 1.0 - scores[i] / largest;
      factors[i] *= rest < 1e-12 ? 0.0 : rest;
    }
  }
}

// What one iteration of dnc keeps of each row, as a weight.
inline Vector dnc_kept(const Table& rows, const Vector& weights, double removed) {
  Vector scores = widest_scores(rows, weights);
  const double largest = *std::max_element(scores.begin(), scores.end());
  // Ties that are ties but for rounding.
  for (double& score : scores) score = largest > 0.0 ? std::round(score / largest * 1e9) : 0.0;
  return take_smallest(scores, weights, (1.0 - removed) * sum(weights));
}

inline Vector dnc(const Table& rows, const Vector& weights, double lambda) {
  return mean(rows, dnc_kept(rows, weights, lambda));
}

}  // namespace ballast::robust::brute_force
