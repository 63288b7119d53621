// Sums and steps, as their definitions read.

#include <algorithm>
#include <cmath>
#include <limits>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

bool copy_finite(std::span<const float> from, std::span<float> to) {
  std::ranges::copy(from, to.begin());
  return all_finite(to);
}

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

bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next) {
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = static_cast<float>(w[j] - rate * direction[j]);
  }
  return all_finite(next);
}

bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next) {
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = static_cast<float>(share * newest[j] + (1.0 - share) * before[j]);
  }
  return all_finite(next);
}

bool descend_and_average(const host::StepVectors& v, double rate, double share) {
  const bool moved = descend(v.w, v.direction, rate, v.next_w);
  const bool averaged = average(v.next_w, v.x, share, v.next_x);
  return moved && averaged;
}

}  // namespace ballast::kernels::reference
