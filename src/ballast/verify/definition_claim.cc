// The rules against the definitions of Section 3, written down a second time in plain double
// precision.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "ballast/base/rng.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/problem.h"
#include "ballast/verify/rows_of_numbers.h"

namespace ballast::verify {
namespace {

constexpr std::size_t kDim = 3;
constexpr double kLambda = 0.3;
constexpr double kTolerance = 1e-5;  // float has 7 digits, and sums of some rows lose one or two

// Rows that floats hold exactly. Small whole weights, often equal, make exact halves common.
WeightedRows draw_table(Rng& rng) {
  WeightedRows table;
  const std::size_t count = 2 + rng.below(7);
  const std::uint64_t weight_max = 1 + rng.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    Vector row(kDim);
    for (double& value : row) value = static_cast<float>(rng.normal());
    table.rows.push_back(std::move(row));
    table.weights.push_back(static_cast<double>(1 + rng.below(weight_max)));
  }
  return table;
}

double total_of(const WeightedRows& table) {
  return std::accumulate(table.weights.begin(), table.weights.end(), 0.0);
}

// Row numbers by rising key; equal keys by number.
std::vector<std::size_t> order_by(const Vector& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
  return order;
}

double median_of_column(const WeightedRows& table, std::size_t column) {
  Vector values;
  for (const Vector& row : table.rows) values.push_back(row[column]);
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

Vector defined_cwmed(const WeightedRows& table) {
  Vector median(kDim);
  for (std::size_t j = 0; j < kDim; ++j) median[j] = median_of_column(table, j);
  return median;
}

Vector distances_from(const Vector& anchor, const WeightedRows& table) {
  Vector distances;
  for (const Vector& row : table.rows) distances.push_back(squared_distance(row, anchor));
  return distances;
}

// Whether rounding cannot change which row is nearer. The midpoint of two rows, for instance, is as
// far from the one as from the other, and Algorithm 1 leaves open which one then goes.
bool has_clear_order(Vector distances) {
  constexpr double kClear = 1e-4;
  std::ranges::sort(distances);
  for (std::size_t k = 1; k < distances.size(); ++k) {
    if (distances[k] - distances[k - 1] < kClear * distances[k]) return false;
  }
  return true;
}

// Algorithm 1 around the given anchor.
Vector defined_ctma(const WeightedRows& table, const Vector& anchor) {
  double left = (1.0 - kLambda) * total_of(table);
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

// How far the rule is from Algorithm 1 around this anchor; 0 where the algorithm is ambiguous.
Result<double> ctma_gap(const robust::Rule& rule, const WeightedRows& table, const Vector& anchor,
                        RuleBench& bench) {
  if (!has_clear_order(distances_from(anchor, table))) return 0.0;
  BALLAST_TRY(const Vector measured, bench.apply(rule, table));
  return std::sqrt(squared_distance(measured, defined_ctma(table, anchor)));
}

double sum_of_distances(const WeightedRows& table, const Vector& point) {
  double sum = 0.0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    sum += table.weights[i] * std::sqrt(squared_distance(table.rows[i], point));
  }
  return sum;
}

// The smallest sum that a row or a long run of Weiszfeld's iteration reaches.
double smallest_sum(const WeightedRows& table) {
  constexpr int kSteps = 500;
  Vector point = weighted_mean(table);
  for (int step = 0; step < kSteps; ++step) {
    WeightedRows pulled{.rows = table.rows};
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const double distance = std::sqrt(squared_distance(table.rows[i], point));
      pulled.weights.push_back(table.weights[i] / std::max(distance, 1e-12));
    }
    point = weighted_mean(pulled);
  }
  double smallest = sum_of_distances(table, point);
  for (const Vector& row : table.rows) smallest = std::min(smallest, sum_of_distances(table, row));
  return smallest;
}

struct Gaps {
  double gm = 0.0, cwmed = 0.0, ctma_gm = 0.0, ctma_cwmed = 0.0;
};

// The library's rules, in this order.
struct Rules {
  robust::RulePointer gm, cwmed, ctma_gm, ctma_cwmed;
};

Result<Rules> make_rules(const Components& components) {
  Rules rules;
  BALLAST_TRY(rules.gm, components.make_rule("gm"));
  BALLAST_TRY(rules.cwmed, components.make_rule("cwmed"));
  BALLAST_TRY(rules.ctma_gm, components.make_rule(fmt::format("ctma(gm, {})", kLambda)));
  BALLAST_TRY(rules.ctma_cwmed, components.make_rule(fmt::format("ctma(cwmed, {})", kLambda)));
  return rules;
}

Status widen(Gaps& gaps, const Rules& rules, const WeightedRows& table, RuleBench& bench) {
  BALLAST_TRY(const Vector gm, bench.apply(*rules.gm, table));
  const double smallest = smallest_sum(table);
  gaps.gm = std::max(gaps.gm, (sum_of_distances(table, gm) - smallest) / smallest);
  const Vector cwmed = defined_cwmed(table);
  BALLAST_TRY(const Vector measured_cwmed, bench.apply(*rules.cwmed, table));
  gaps.cwmed = std::max(gaps.cwmed, std::sqrt(squared_distance(measured_cwmed, cwmed)));
  BALLAST_TRY(const double from_gm, ctma_gap(*rules.ctma_gm, table, gm, bench));
  gaps.ctma_gm = std::max(gaps.ctma_gm, from_gm);
  BALLAST_TRY(const double from_cwmed, ctma_gap(*rules.ctma_cwmed, table, cwmed, bench));
  gaps.ctma_cwmed = std::max(gaps.ctma_cwmed, from_cwmed);
  return {};
}

}  // namespace

Result<Findings> check_definitions(const Lab& lab) {
  BALLAST_TRY(const Rules rules, make_rules(lab.components));
  RuleBench bench;
  Gaps gaps;
  const std::size_t tables = lab.pick(500, 5000);
  for (std::size_t i = 0; i < tables; ++i) {
    Rng rng(RngKey{.purpose = static_cast<std::uint32_t>(Purpose::kHonestRows), .step = i});
    BALLAST_TRY_STATUS(widen(gaps, rules, draw_table(rng), bench));
  }
  const auto check = [&](const std::string& what, double gap) {
    return Check{.what = fmt::format("{}, largest gap over {} tables", what, tables),
                 .measured = Estimate::exactly(gap),
                 .limit = kTolerance,
                 .reason = "rounding"};
  };
  return Findings{.checks = {check("gm, relative objective", gaps.gm),
                             check("cwmed with ties", gaps.cwmed),
                             check("ctma(gm) with the split row", gaps.ctma_gm),
                             check("ctma(cwmed) with the split row", gaps.ctma_cwmed)}};
}

}  // namespace ballast::verify
