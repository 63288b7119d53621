// Order statistics, a sorted column at a time.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ballast/kernels/reference/primitives.h"
#include "ballast/kernels/trim_cuts.h"

namespace ballast::kernels::reference {
namespace {

// One column of a table with its weights, sorted by value.
struct ColumnEntry {
  double value;
  std::uint64_t weight;
};

std::vector<ColumnEntry> sorted_column(RowsView rows, const Weights& weights,
                                       std::size_t coordinate) {
  std::vector<ColumnEntry> column;
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    column.push_back({static_cast<double>(rows.row(i)[coordinate]), weights.units()[i]});
  }
  std::sort(column.begin(), column.end(),
            [](const ColumnEntry& a, const ColumnEntry& b) { return a.value < b.value; });
  return column;
}

double median_of(const std::vector<ColumnEntry>& column, std::uint64_t total) {
  std::uint64_t cumulative = 0;
  std::size_t j = 0;
  while (2 * (cumulative += column[j].weight) < total) ++j;
  const bool is_exactly_half = 2 * cumulative == total;
  return is_exactly_half ? (column[j].value + column[j + 1].value) / 2.0 : column[j].value;
}

// Lays the sorted rows end to end on a line of length `total`, each as long as its weight, and
// averages what lies between the two cuts.
double mean_between(const std::vector<ColumnEntry>& column, const TrimCuts& cuts) {
  double sum = 0.0, kept = 0.0, start = 0.0;
  for (const ColumnEntry& entry : column) {
    const double end = start + static_cast<double>(entry.weight);
    const double inside = std::max(0.0, std::min(end, cuts.high) - std::max(start, cuts.low));
    sum += inside * entry.value;
    kept += inside;
    start = end;
  }
  return sum / kept;
}

void describe_column(RowsView rows, const Weights& weights, std::size_t j, float median,
                     host::MedianState& state) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::uint64_t below = 0, at = 0;
  float lower = -kInfinity, upper = kInfinity;
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    const float value = rows.row(i)[j];
    if (value < median) below += weights.units()[i], lower = std::max(lower, value);
    if (value == median) at += weights.units()[i];
    if (value > median) upper = std::min(upper, value);
  }
  // A median between two values cannot be followed by counting: it counts as unknown.
  const bool is_between = 2 * below == weights.total() || 2 * (below + at) == weights.total();
  state.set(j, static_cast<std::uint32_t>(below), is_between ? 0 : static_cast<std::uint32_t>(at),
            lower, upper);
}

}  // namespace

void weighted_median(RowsView rows, const Weights& weights, std::span<float> out) {
  for (std::size_t j = 0; j < rows.dim(); ++j) {
    const double median = median_of(sorted_column(rows, weights, j), weights.total());
    out[j] = static_cast<float>(median) + 0.0f;  // turns -0 into +0
  }
}

void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                           std::span<float> out) {
  const TrimCuts cuts = trim_cuts(trim, weights.total());
  for (std::size_t j = 0; j < rows.dim(); ++j) {
    const double mean = mean_between(sorted_column(rows, weights, j), cuts);
    out[j] = static_cast<float>(mean);
  }
}

void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                   host::MedianState* state) {
  weighted_median(rows, weights, median);
  if (state != nullptr && weights.is_narrow()) {
    state->reset(rows.dim(), weights.total());
    for (std::size_t j = 0; j < rows.dim(); ++j)
      describe_column(rows, weights, j, median[j], *state);
  }
}

double update_median(RowsView rows, const Weights& weights, const host::RowChange&,
                     std::span<float> median, host::MedianState& state) {
  refine_median(rows, weights, median, &state);
  return 1.0;
}

}  // namespace ballast::kernels::reference
