#include "ballast/kernels/reference/column.h"
#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {
namespace {

double median_of(const std::vector<ColumnEntry>& column, std::uint64_t total) {
  std::uint64_t cumulative = 0;
  std::size_t j = 0;
  while (2 * (cumulative += column[j].weight) < total) ++j;
  const bool is_exactly_half = 2 * cumulative == total;
  return is_exactly_half ? (column[j].value + column[j + 1].value) / 2.0 : column[j].value;
}

}  // namespace

void weighted_median(RowsView rows, const Weights& weights, std::span<float> out) {
  for (std::size_t j = 0; j < rows.dim(); ++j) {
    const double median = median_of(sorted_column(rows, weights, j), weights.total());
    out[j] = static_cast<float>(median) + 0.0f;  // turns -0 into +0
  }
}

}  // namespace ballast::kernels::reference
