#pragma once
// How far an adversary of a given share can pull a rule from the honest mean, relative to how far
// the honest rows are spread: the constant c of Definition 3.1, from below.
//
// The proofs of Table 1 and Lemma 3.1 bound every single table, with rho^2 the weighted mean of the
// honest rows' squared distances from their mean; so single tables are looked at here, which is
// stricter than the definition's expectation.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/robust/rule.h"
#include "ballast/verify/rows_of_numbers.h"

namespace ballast::verify {

// Honest rows with their weights, and Byzantine rows that share the weight lambda of the total.
struct AttackedTable {
  WeightedRows honest{};
  std::vector<DoubleVector> liars{};
};

// |rule(table) - honest mean|^2 / rho^2. Requires: honest rows that are not all equal.
Result<double> pull(const robust::Rule& rule, const AttackedTable& table, double lambda,
                    RuleBench& bench);

// What the adversary does: attacks from the literature, tables worked out on paper, and a search
// that knows neither.
enum class AdversaryKind : std::uint8_t { kFar, kShift, kLittle, kEmpire, kConstruction, kSearch };

std::string_view name(AdversaryKind adversary) noexcept;

struct WorstCaseOptions {
  double lambda = 0.1;
  std::size_t trials = 10;  // tables of normal rows for each attack and scale
  std::size_t starts = 20;  // random tables that the search begins at
  std::size_t steps = 500;  // from each of them
};

// The largest pull found. The search moves rows and honest weights at random and keeps what pulls
// further.
Result<double> worst_pull(const robust::Rule& rule, AdversaryKind adversary,
                          const WorstCaseOptions& options, RuleBench& bench);

}  // namespace ballast::verify
