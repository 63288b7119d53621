#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

void squared_distances(RowsView rows, std::span<const float> point, std::span<double> distances) {
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    double sum = 0.0;
    for (std::size_t k = 0; k < rows.dim(); ++k) {
      const double difference = static_cast<double>(rows.row(i)[k]) -
                                (point.empty() ? 0.0 : static_cast<double>(point[k]));
      sum += difference * difference;
    }
    distances[i] = sum;
  }
}

}  // namespace ballast::kernels::reference
