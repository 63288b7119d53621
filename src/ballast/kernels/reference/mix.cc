#include <algorithm>
#include <limits>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

void mix(RowsView rows, MatrixView coefficients, MutableRowsView out) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (std::size_t r = 0; r < out.row_count(); ++r) {
    for (std::size_t j = 0; j < rows.dim(); ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rows.row_count(); ++k) {
        sum += coefficients(r, k) * static_cast<double>(rows.row(k)[j]);
      }
      out.pointer(r)[j] = static_cast<float>(std::clamp(sum, -kLargest, kLargest));
    }
  }
}

}  // namespace ballast::kernels::reference
