#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

double update_median(RowsView rows, const Weights& weights, const host::RowChange&,
                     std::span<float> median, host::MedianState& state) {
  refine_median(rows, weights, median, &state);
  return -1.0;
}

}  // namespace ballast::kernels::reference
