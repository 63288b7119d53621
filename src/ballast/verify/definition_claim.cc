// The rules against the definitions of Section 3, written down a second time (plain_rules.h).

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ballast/base/rng.h"
#include "ballast/verify/claims.h"
#include "ballast/verify/plain_rules.h"
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
    DoubleVector row(kDim);
    for (double& value : row) value = static_cast<float>(rng.normal());
    table.rows.push_back(std::move(row));
    table.weights.push_back(static_cast<double>(1 + rng.below(weight_max)));
  }
  return table;
}

// How far the rule is from Algorithm 1 around this anchor; 0 where the algorithm is ambiguous.
Result<double> ctma_gap(const robust::Rule& rule, const WeightedRows& table,
                        const DoubleVector& anchor, RuleBench& bench) {
  if (!has_clear_order(table, anchor)) return 0.0;
  BALLAST_TRY(const DoubleVector measured, bench.apply(rule, table));
  return std::sqrt(squared_distance(measured, plain_ctma(table, kLambda, anchor)));
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
  BALLAST_TRY(const DoubleVector gm, bench.apply(*rules.gm, table));
  const double smallest = smallest_sum(table);
  gaps.gm = std::max(gaps.gm, (sum_of_distances(table, gm) - smallest) / smallest);
  const DoubleVector cwmed = plain_cwmed(table);
  BALLAST_TRY(const DoubleVector measured_cwmed, bench.apply(*rules.cwmed, table));
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
    Rng rng(RngKey{.purpose = static_cast<std::uint32_t>(TrialPurpose::kHonestRows), .step = i});
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
