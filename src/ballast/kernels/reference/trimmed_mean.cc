#include <algorithm>

#include "ballast/kernels/reference/column.h"
#include "ballast/kernels/reference/primitives.h"
#include "ballast/kernels/trim_cuts.h"

namespace ballast::kernels::reference {
namespace {

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

}  // namespace

void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                           std::span<float> out) {
  const TrimCuts cuts = trim_cuts(trim, weights.total());
  for (std::size_t j = 0; j < rows.dim(); ++j) {
    const double mean = mean_between(sorted_column(rows, weights, j), cuts);
    out[j] = static_cast<float>(mean);
  }
}

}  // namespace ballast::kernels::reference
