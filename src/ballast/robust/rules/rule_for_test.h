#pragma once
// Applying rules to small tables of doubles, for the tests. Every value is one that a float holds.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/kernels/table_for_test.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"
#include "ballast/robust/rules/brute_force_for_test.h"

namespace ballast::robust {

using brute_force::Table;
using brute_force::Vector;

inline RulePointer rule(std::string_view text) {
  auto parsed = parse_rule(text);
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return std::move(*parsed);
}

struct Outcome {
  Vector result;
  Report report;
};

inline Outcome outcome(const Rule& rule, const Table& rows, const Vector& weights,
                       std::uint64_t draw = 0) {
  static const auto backend = kernels::make_cpu_backend(1);
  kernels::TestTable table(rows.size(), rows.front().size());
  for (std::size_t i = 0; i < rows.size(); ++i) table[i].assign(rows[i].begin(), rows[i].end());
  std::vector<float> out(table.dim());
  Workspace workspace;
  const auto report =
      aggregate(rule, table.view(), weights, out, *backend, workspace, {.draw = draw});
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return {Vector(out.begin(), out.end()), report.value_or(Report{})};
}

inline Vector applied(const Rule& rule, const Table& rows, const Vector& weights,
                      std::uint64_t draw = 0) {
  return outcome(rule, rows, weights, draw).result;
}
inline Vector applied(std::string_view text, const Table& rows, const Vector& weights,
                      std::uint64_t draw = 0) {
  return applied(*rule(text), rows, weights, draw);
}

// Fails, also for results that are not numbers, unless the points are at most `tolerance` apart.
inline void expect_near(const Vector& actual, const Vector& expected, double tolerance) {
  EXPECT_LE(brute_force::distance(actual, expected), tolerance)
      << testing::PrintToString(actual) << "\n  instead of " << testing::PrintToString(expected);
}

// A table with its weights.
struct Case {
  Table rows;
  Vector weights;
};
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest asks for this name.
inline void PrintTo(const Case& given, std::ostream* out) {
  *out << "rows " << testing::PrintToString(given.rows) << " weights "
       << testing::PrintToString(given.weights);
}

// Few different whole numbers, some rows twice, small counts as weights: ties of every kind.
inline Case draw_tied(Rng& rng, std::size_t rows_max = 9) {
  Case drawn;
  const std::size_t row_count = 1 + rng.below(rows_max), dim = 1 + rng.below(5);
  for (std::size_t i = 0; i < row_count; ++i) {
    Vector row(dim);
    for (double& value : row) value = static_cast<double>(rng.below(6)) - 2.0;
    if (i > 0 && rng.below(4) == 0) row = drawn.rows[rng.below(i)];
    drawn.rows.push_back(row);
    drawn.weights.push_back(1.0 + static_cast<double>(rng.below(4)));
  }
  return drawn;
}

// Standard normal rows, rounded to floats, and weights of the given kind.
inline Case draw_normal(std::size_t row_count, std::size_t dim, std::uint64_t seed,
                        kernels::Weighting weighting = kernels::Weighting::kSmallCounts) {
  const auto table = kernels::make_table(kernels::Filling::kNormal, row_count, dim, seed);
  Case drawn{.rows = {}, .weights = kernels::make_weights(weighting, row_count, seed)};
  for (std::size_t i = 0; i < row_count; ++i) {
    drawn.rows.emplace_back(table[i].begin(), table[i].end());
  }
  return drawn;
}

// A table whose rows are replaced a hundred times gives what the rule gives for the rows alone.
inline void expect_table_agrees(std::string_view text, double tolerance) {
  SCOPED_TRACE(text);
  constexpr std::size_t kRows = 6, kDim = 11;
  RowTable table(rule(text), kernels::make_cpu_backend(1), kRows, kDim);
  Case given = draw_normal(kRows, kDim, 1);
  std::vector<float> result(kDim);
  for (std::uint64_t update = 0; update < 100; ++update) {
    const std::size_t row = update % kRows;
    given.rows[row] = draw_normal(1, kDim, 100 + update).rows[0];
    for (std::size_t i = update == 0 ? 0 : row; i < (update == 0 ? kRows : row + 1); ++i) {
      const std::vector<float> values(given.rows[i].begin(), given.rows[i].end());
      ASSERT_TRUE(table.put(i, values, given.weights[i]).has_value());
    }
    (*table.aggregate())->read(result);
    expect_near({result.begin(), result.end()}, applied(text, given.rows, given.weights),
                tolerance);
  }
}

}  // namespace ballast::robust
