#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

void inner_products(RowsView rows, std::size_t first, std::size_t last,
                    std::span<const float> centre, std::span<double> products) {
  const std::size_t m = rows.row_count();
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rows.dim(); ++k) {
        const double origin = centre.empty() ? 0.0 : static_cast<double>(centre[k]);
        sum += (static_cast<double>(rows.row(i)[k]) - origin) *
               (static_cast<double>(rows.row(j)[k]) - origin);
      }
      products[(i - first) * m + j] = sum;
    }
  }
}

}  // namespace ballast::kernels::reference
