#include "ballast/robust/aggregate.h"

#include <fmt/core.h>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"
#include "ballast/base/parallel.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/rows/fresh_rows.h"

namespace ballast::robust {
namespace {

Status check_sizes(const Rule& rule, kernels::RowsView rows, std::span<const double> weights,
                   std::span<float> out) {
  if (rows.row_count() == 0 || rows.dim() == 0) {
    return invalid_argument("there is nothing to aggregate: no rows, or rows of length 0");
  }
  if (weights.size() != rows.row_count()) {
    return invalid_argument(fmt::format("there are {} rows but {} weights; give one weight per row",
                                        rows.row_count(), weights.size()));
  }
  if (out.size() != rows.dim()) {
    return invalid_argument(fmt::format("the rows have {} values but the output has room for {}",
                                        rows.dim(), out.size()));
  }
  return rule.check_row_count(rows.row_count());
}

Result<std::vector<const float*>> row_pointers(std::span<const std::vector<float>> rows) {
  std::vector<const float*> pointers;
  pointers.reserve(rows.size());
  for (const std::vector<float>& row : rows) {
    if (row.size() != rows.front().size()) {
      return invalid_argument(fmt::format("row 0 has {} values but row {} has {}; make them equal",
                                          rows.front().size(), pointers.size(), row.size()));
    }
    pointers.push_back(row.data());
  }
  return pointers;
}

}  // namespace

Status check_finite(const kernels::Table& table, const kernels::Backend& backend) {
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    if (!backend.all_finite(table, i)) {
      return invalid_argument(
          fmt::format("row {} holds a NaN or an infinity; leave it out or mend it", i));
    }
  }
  return {};
}

void aggregate_unchecked(const Rule& rule, const kernels::Table& table,
                         const kernels::Weights& weights, kernels::Vector& out,
                         const kernels::Backend& backend, Workspace& workspace,
                         const AggregateOptions& options, Report& report) {
  const IeeeArithmetic ieee;
  workspace.reset();
  report.kept.clear();
  report.iterations = 0;
  FreshRows fresh(table, backend, workspace, options.draw);
  const kernels::Vector& result = rule.aggregate(fresh, weights, out, report);
  BALLAST_CHECK(&result == &out, "fresh rows keep no results");
  if (report.kept.empty()) report.kept.assign(table.row_count(), 1.0);
}

Result<Report> aggregate(const Rule& rule, kernels::RowsView rows, std::span<const double> weights,
                         std::span<float> out, const kernels::Backend& backend,
                         Workspace& workspace, const AggregateOptions& options) {
  BALLAST_TRY_STATUS(check_sizes(rule, rows, weights, out));
  BALLAST_TRY(const kernels::Weights exact, kernels::Weights::make(weights));
  const kernels::Table& table = workspace.show(backend, rows);
  BALLAST_TRY_STATUS(check_finite(table, backend));
  kernels::Vector& result = workspace.show(backend, out);
  Report report;
  aggregate_unchecked(rule, table, exact, result, backend, workspace, options, report);
  if (result.host_view().data() != out.data()) result.read(out);
  return report;
}

Result<Aggregate> aggregate(std::string_view rule, std::span<const std::vector<float>> rows,
                            std::span<const double> weights, const AggregateOptions& options) {
  BALLAST_TRY(const RulePointer parsed, parse_rule(rule));
  BALLAST_TRY(const std::vector<const float*> pointers, row_pointers(rows));
  const std::size_t dim = rows.empty() ? 0 : rows.front().size();
  const auto backend = kernels::make_cpu_backend(hardware_threads());
  Workspace workspace;
  Aggregate result{std::vector<float>(dim), {}};
  BALLAST_TRY(result.report, aggregate(*parsed, {pointers, dim}, weights, result.values, *backend,
                                       workspace, options));
  return result;
}

}  // namespace ballast::robust
