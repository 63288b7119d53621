#include <algorithm>
#include <limits>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {
namespace {

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
  if (is_between) return state.set_unknown(j);
  state.set(j, static_cast<std::uint32_t>(below), static_cast<std::uint32_t>(at), lower, upper);
}

}  // namespace

void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                   host::MedianState* state) {
  weighted_median(rows, weights, median);
  if (state != nullptr && weights.is_narrow()) {
    state->reset(rows.dim(), weights.total());
    for (std::size_t j = 0; j < rows.dim(); ++j)
      describe_column(rows, weights, j, median[j], *state);
  }
}

}  // namespace ballast::kernels::reference
