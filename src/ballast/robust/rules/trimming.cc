#include "ballast/robust/rules/trimming.h"

#include <algorithm>
#include <numeric>

namespace ballast::robust {

void keep_nearest(std::span<const double> distances, const kernels::Weights& weights, double share,
                  Workspace& workspace, std::span<double> kept) {
  const std::span<std::size_t> order = workspace.take<std::size_t>(distances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return distances[a] != distances[b] ? distances[a] < distances[b] : a < b;
  });
  double left = share;
  for (const std::size_t row : order) {
    const double weight = weights.share(row);
    const bool is_whole = left >= weight - kShareTolerance;
    kept[row] = is_whole ? 1.0 : left <= kShareTolerance ? 0.0 : left / weight;
    left = is_whole ? left - weight : 0.0;
  }
}

void kept_mean(std::span<const double> kept, const kernels::Weights& weights,
               std::span<double> coefficients) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    coefficients[i] = kept[i] * weights.share(i);
    sum += coefficients[i];
  }
  for (double& coefficient : coefficients) coefficient /= sum;
}

}  // namespace ballast::robust
