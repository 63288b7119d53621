#pragma once
// Private to methods/: products and distances of long vectors in host memory, in double precision.
// Eight partial sums each, added in a fixed order: the same bits on every call.
//
// Requires, for all: spans of one length. Cost: one pass.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace ballast::methods {

// The nearest float; beyond the largest finite one, that.
inline float finite_float(double value) noexcept {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

template <typename Term>
double sum_of(std::size_t count, Term term) {
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {};
  std::size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += term(j + k);
  }
  for (std::size_t k = 0; j < count; ++j, ++k) sums[k] += term(j);
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return sum;
}

inline double inner_product(std::span<const float> a, std::span<const float> b) {
  return sum_of(a.size(), [&](std::size_t j) { return double{a[j]} * double{b[j]}; });
}

inline double norm(std::span<const float> a) { return std::sqrt(inner_product(a, a)); }

inline double distance(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(sum_of(a.size(), [&](std::size_t j) {
    const double difference = double{a[j]} - double{b[j]};
    return difference * difference;
  }));
}

}  // namespace ballast::methods
