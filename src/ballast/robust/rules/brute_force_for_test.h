#pragma once
// The rules as their headers define them, written down plainly for small tables: double precision,
// no code shared with the library, nothing clever. Weights are whole numbers or fractions; rows are
// taken in order of number where the definitions leave a tie.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace ballast::robust::brute_force {

using Vector = std::vector<double>;
using Table = std::vector<Vector>;

inline double sum(const Vector& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

inline double distance(const Vector& a, const Vector& b) {
  double squares = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) squares += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(squares);
}

// The largest absolute value in the table: what errors are measured against.
inline double scale_of(const Table& rows) {
  double largest = 0.0;
  for (const Vector& row : rows) {
    for (const double value : row) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

inline std::vector<std::size_t> sorted_by(const Vector& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

inline Vector mean(const Table& rows, const Vector& weights) {
  Vector result(rows.front().size(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < result.size(); ++j) {
      result[j] += weights[i] / sum(weights) * rows[i][j];
    }
  }
  return result;
}

// Applies a function of (values, weights) to each column.
template <typename Function>
Vector by_coordinate(const Table& rows, const Vector& weights, Function&& function) {
  Vector result;
  for (std::size_t j = 0; j < rows.front().size(); ++j) {
    Vector column;
    for (const Vector& row : rows) column.push_back(row[j]);
    result.push_back(function(column, weights));
  }
  return result;
}

inline double median(const Vector& values, const Vector& weights) {
  const auto order = sorted_by(values);
  double weight = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    weight += weights[order[k]];
    if (2.0 * weight == sum(weights)) return (values[order[k]] + values[order[k + 1]]) / 2.0;
    if (2.0 * weight > sum(weights)) return values[order[k]];
  }
  return NAN;
}

inline Vector cwmed(const Table& rows, const Vector& weights) {
  return by_coordinate(rows, weights, median);
}

// Each value fills the stretch [begin, begin + weight) of a line as long as the total weight; what
// counts is its overlap with the line without its ends.
inline double trimmed_mean(const Vector& values, const Vector& weights, double lambda) {
  const double cut = lambda * sum(weights), end = sum(weights) - cut;
  double begin = 0.0, total = 0.0;
  for (const std::size_t i : sorted_by(values)) {
    const double overlap = std::min(begin + weights[i], end) - std::max(begin, cut);
    total += std::max(0.0, overlap) * values[i];
    begin += weights[i];
  }
  return total / (end - cut);
}

inline Vector cwtm(const Table& rows, const Vector& weights, double lambda) {
  return by_coordinate(rows, weights, [&](const Vector& values, const Vector& of_rows) {
    return trimmed_mean(values, of_rows, lambda);
  });
}

inline Vector distances_from(const Vector& point, const Table& rows) {
  Vector distances;
  for (const Vector& row : rows) distances.push_back(distance(row, point));
  return distances;
}

// How much of each row's weight is taken, in order of the keys, until `wanted` is reached.
inline Vector take_smallest(const Vector& keys, const Vector& weights, double wanted) {
  Vector taken(keys.size(), 0.0);
  for (const std::size_t i : sorted_by(keys)) {
    taken[i] = std::clamp(wanted, 0.0, weights[i]);
    wanted -= taken[i];
  }
  return taken;
}

// Algorithm 1, line by line.
inline Vector ctma(const Table& rows, const Vector& weights, const Vector& x_0, double lambda) {
  const auto order = sorted_by(distances_from(x_0, rows));
  const double wanted = (1.0 - lambda) * sum(weights);
  Table chosen;
  Vector chosen_weights;
  for (const std::size_t row : order) {
    const double before = sum(chosen_weights);
    chosen.push_back(rows[row]);
    chosen_weights.push_back(weights[row]);
    if (sum(chosen_weights) >= wanted) {
      chosen_weights.back() = wanted - before;
      break;
    }
  }
  return mean(chosen, chosen_weights);
}

inline Vector krum_scores(const Table& rows, const Vector& weights, double lambda) {
  const double total = sum(weights), part = total / static_cast<double>(rows.size());
  Vector scores;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Vector squares, others;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (k == i) continue;
      squares.push_back(std::pow(distance(rows[i], rows[k]), 2.0));
      others.push_back(weights[k]);
    }
    const double wanted = std::max((1.0 - lambda) * total - weights[i] - part, part);
    const Vector taken = take_smallest(squares, others, wanted);
    scores.push_back(std::inner_product(taken.begin(), taken.end(), squares.begin(), 0.0));
  }
  return scores;
}

// Sets of rows are bit masks.
inline double diameter(const Table& rows, unsigned set) {
  double largest = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if ((set >> i & 1u) && (set >> k & 1u)) {
        largest = std::max(largest, distance(rows[i], rows[k]));
      }
    }
  }
  return largest;
}

inline double weight_of(const Vector& weights, unsigned set) {
  double weight = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) weight += (set >> i & 1u) ? weights[i] : 0.0;
  return weight;
}

// The members of the set, for comparing sets in order of row numbers.
inline std::vector<std::size_t> members(unsigned set) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; set >> i != 0; ++i) {
    if (set >> i & 1u) numbers.push_back(i);
  }
  return numbers;
}

inline Vector mean_of_set(const Table& rows, const Vector& weights, unsigned set) {
  Table chosen;
  Vector chosen_weights;
  for (const std::size_t i : members(set)) {
    chosen.push_back(rows[i]);
    chosen_weights.push_back(weights[i]);
  }
  return mean(chosen, chosen_weights);
}

// The set of mda: smallest diameter, then heaviest, then first in order of row numbers.
inline unsigned mda_set(const Table& rows, const Vector& weights, double lambda) {
  const double wanted = (1.0 - lambda) * sum(weights) * (1.0 - 1e-12);
  std::optional<unsigned> best;
  const auto is_better = [&](unsigned set) {
    if (!best) return true;
    const double by_diameter = diameter(rows, set) - diameter(rows, *best);
    if (by_diameter != 0.0) return by_diameter < 0.0;
    const double by_weight = weight_of(weights, set) - weight_of(weights, *best);
    if (by_weight != 0.0) return by_weight > 0.0;
    return members(set) < members(*best);
  };
  for (unsigned set = 1; set < 1u << rows.size(); ++set) {
    if (weight_of(weights, set) >= wanted && is_better(set)) best = set;
  }
  return *best;
}

// The rows that nnm hands to its base.
inline Table nnm(const Table& rows, const Vector& weights, double lambda) {
  Table mixed;
  for (const Vector& row : rows) {
    const Vector taken =
        take_smallest(distances_from(row, rows), weights, (1.0 - lambda) * sum(weights));
    mixed.push_back(mean(rows, taken));
  }
  return mixed;
}

// The rows and weights that bucketing hands to its base, given the permutation.
struct Buckets {
  Table rows;
  Vector weights;
};
inline Buckets buckets(const Table& rows, const Vector& weights, std::size_t size,
                       const std::vector<std::size_t>& permutation) {
  Buckets result;
  for (std::size_t begin = 0; begin < rows.size(); begin += size) {
    const std::size_t end = std::min(begin + size, rows.size());
    Table members;
    Vector member_weights;
    for (std::size_t k = begin; k < end; ++k) {
      members.push_back(rows[permutation[k]]);
      member_weights.push_back(weights[permutation[k]]);
    }
    result.rows.push_back(mean(members, member_weights));
    result.weights.push_back(sum(member_weights) / static_cast<double>(end - begin));
  }
  return result;
}

}  // namespace ballast::robust::brute_force
