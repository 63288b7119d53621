#include <cmath>
#include <vector>

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels::reference {

bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next) {
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = static_cast<float>(w[j] - rate * direction[j]);
  }
  return all_finite(next);
}

bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                   std::span<float> next) {
  std::vector<float> made(next.size());
  float* const to[] = {made.data()};
  mix(direction.rows, MatrixView(direction.coefficients, direction.rows.row_count()),
      MutableRowsView(to, made.size()));
  return descend(w, made, rate, next);
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

bool correct(const host::CorrectionSpans& spans, double keep) {
  for (std::size_t j = 0; j < spans.next.size(); ++j) {
    const double difference = static_cast<double>(spans.before[j]) - spans.reference[j];
    spans.next[j] = static_cast<float>(spans.gradient[j] + keep * difference);
  }
  return all_finite(spans.next);
}

}  // namespace ballast::kernels::reference
