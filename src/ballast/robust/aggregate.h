#pragma once
// The stateless door to the rules: rows and weights in, one vector out.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

struct AggregateOptions {
  // Numbers the call, for rules that draw random numbers; the same number gives the same result.
  std::uint64_t draw = 0;
};

// Writes rule(rows, weights) to out. Refuses, and writes nothing, when there are no rows or
// weights, a row holds a number that is not finite, a weight is not positive and finite, the sizes
// do not fit or the rule cannot take so many rows. Cost: besides the rule's, one read of the rows
// for the check. Allocates nothing once the workspace has seen this size.
Result<Report> aggregate(const Rule& rule, kernels::RowsView rows, std::span<const double> weights,
                         std::span<float> out, const kernels::Backend& backend,
                         Workspace& workspace, const AggregateOptions& options = {});

struct Aggregate {
  std::vector<float> values;
  Report report;
};

// The short form, for a first try and for programs that aggregate now and then: the rule as a text,
// for example "ctma(gm, 0.4)", rows of one length, and one positive weight per row. Runs on every
// hardware thread. Refuses what the form above refuses, a text that names no rule, and rows of
// different lengths. Cost: besides the above, parsing and allocating on each call.
Result<Aggregate> aggregate(std::string_view rule, std::span<const std::vector<float>> rows,
                            std::span<const double> weights, const AggregateOptions& options = {});

// The long form without the checks, on a table and a vector of the backend, with a report to use
// again. Requires: what is checked above.
void aggregate_unchecked(const Rule& rule, const kernels::Table& table,
                         const kernels::Weights& weights, kernels::Vector& out,
                         const kernels::Backend& backend, Workspace& workspace,
                         const AggregateOptions& options, Report& report);

// Refuses rows that hold a NaN or an infinity; the error names the first such row.
Status check_finite(const kernels::Table& table, const kernels::Backend& backend);

}  // namespace ballast::robust
