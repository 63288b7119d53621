#include "ballast/robust/rules/column_mean.h"

#include <algorithm>
#include <cmath>

#include "ballast/robust/rules/trimming.h"

namespace ballast::robust {

double mean_around(std::span<WeighedValue> entries, double middle, double kept) {
  for (WeighedValue& entry : entries) entry.distance = std::abs(entry.value - middle);
  std::ranges::sort(entries, [](const WeighedValue& a, const WeighedValue& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
  });
  double left = kept;
  double sum = 0.0;
  double taken = 0.0;
  for (const WeighedValue& entry : entries) {
    if (left <= kShareTolerance) break;
    const double share = std::min(entry.share, left);
    sum += share * entry.value;
    taken += share;
    left -= share;
  }
  return sum / taken;
}

double median_of(std::span<WeighedValue> entries) {
  std::ranges::sort(entries, [](const WeighedValue& a, const WeighedValue& b) {
    return a.value != b.value ? a.value < b.value : a.row < b.row;
  });
  double total = 0.0;
  for (const WeighedValue& entry : entries) total += entry.share;
  double before = 0.0;
  for (std::size_t k = 0; k + 1 < entries.size(); ++k) {
    before += entries[k].share;
    if (std::abs(before - 0.5 * total) <= kShareTolerance * total) {
      return 0.5 * entries[k].value + 0.5 * entries[k + 1].value;
    }
    if (before > 0.5 * total) return entries[k].value;
  }
  return entries.back().value;
}

std::span<const float> read_rows(Observed& observed, kernels::Vector& scratch) {
  const std::size_t m = observed.row_count();
  const std::size_t dim = observed.dim();
  const std::span<float> values = observed.workspace().take<float>(m * dim);
  const std::span<double> only = observed.workspace().take<double>(m, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    only[i] = 1.0;
    observed.combine(only, scratch);
    scratch.read(values.subspan(i * dim, dim));
    only[i] = 0.0;
  }
  return values;
}

}  // namespace ballast::robust
