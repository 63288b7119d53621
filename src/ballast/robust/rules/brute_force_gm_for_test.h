#pragma once
// The weighted geometric median by its definition: the objective, its slope, and a slow minimiser
// in double precision that works on coordinates and shares no code with the library.

#include "ballast/robust/rules/brute_force_for_test.h"

namespace ballast::robust::brute_force {

inline double objective(const Table& rows, const Vector& weights, const Vector& y) {
  double total = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) total += weights[i] * distance(y, rows[i]);
  return total;
}

// What pulls at y: the sum of the weighted unit vectors towards the rows that are not at y, the sum
// of weight / distance over them, and the weight of those that are.
struct Pull {
  Vector force;
  double stiffness = 0.0;
  double weight_here = 0.0;

  double length() const { return distance(force, Vector(force.size(), 0.0)); }
  // The length of the shortest subgradient of the objective.
  double slope() const { return std::max(0.0, length() - weight_here); }
};

inline Pull pull_at(const Table& rows, const Vector& weights, const Vector& y) {
  Pull pull{.force = Vector(y.size(), 0.0)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double apart = distance(rows[i], y);
    if (apart == 0.0) {
      pull.weight_here += weights[i];
      continue;
    }
    pull.stiffness += weights[i] / apart;
    for (std::size_t j = 0; j < y.size(); ++j) {
      pull.force[j] += weights[i] / apart * (rows[i][j] - y[j]);
    }
  }
  return pull;
}

// Weiszfeld's step, in the form of Vardi and Zhang at a row.
inline Vector weiszfeld_step(const Pull& pull, Vector y) {
  if (pull.stiffness == 0.0) return y;
  const double rest = pull.length() == 0.0 ? 0.0 : pull.slope() / pull.length();
  for (std::size_t j = 0; j < y.size(); ++j) y[j] += rest * pull.force[j] / pull.stiffness;
  return y;
}

// Starts from the best row, which makes a row that is optimal the answer exactly, and goes on until
// the slope is negligible: by |y - argmin| <= 2 f(y) / sum s and convexity, f(y) - min f is then at
// most 2 * slope_max * f(y).
inline Vector geometric_median(const Table& rows, const Vector& weights, double slope_max = 1e-9) {
  constexpr int kStepsMax = 100'000;
  Vector y = rows.front();
  for (const Vector& row : rows) {
    if (objective(rows, weights, row) < objective(rows, weights, y)) y = row;
  }
  for (int step = 0; step < kStepsMax; ++step) {
    const Pull pull = pull_at(rows, weights, y);
    if (pull.slope() <= slope_max * sum(weights)) break;
    y = weiszfeld_step(pull, y);
  }
  return y;
}

}  // namespace ballast::robust::brute_force
