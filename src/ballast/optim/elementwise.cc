#include "ballast/optim/elementwise.h"

#include <cstddef>
#include <limits>

#include "ballast/base/target_clones.h"

namespace ballast::optim {
namespace {

template <typename Real>
inline Real magnitude(Real value) noexcept {
  return value < Real{0} ? -value : value;
}

// Comparisons with NaN are false, so the test asks for "not at most the largest".
template <typename Real>
inline int is_bad(Real value) noexcept {
  return magnitude(value) <= std::numeric_limits<Real>::max() ? 0 : 1;
}

template <typename Real>
[[gnu::always_inline]] inline bool correct_all(const Real* gradient, const Real* before,
                                               const Real* reference, double kept,
                                               Real* __restrict next, std::size_t count) {
  int bad = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const double old = before[j];
    next[j] = static_cast<Real>(gradient[j] + kept * (old - reference[j]));
    bad |= is_bad(next[j]);
  }
  return bad == 0;
}

BALLAST_CLONES bool correct_floats(const float* gradient, const float* before,
                                   const float* reference, double kept, float* next,
                                   std::size_t count) {
  return correct_all(gradient, before, reference, kept, next, count);
}

}  // namespace

bool descend(std::span<const double> w, std::span<const double> direction, double rate,
             std::span<double> next) {
  int bad = 0;
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = w[j] - rate * direction[j];
    bad |= is_bad(next[j]);
  }
  return bad == 0;
}

bool average(std::span<const double> newest, std::span<const double> before, double share,
             std::span<double> next) {
  int bad = 0;
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = share * newest[j] + (1.0 - share) * before[j];
    bad |= is_bad(next[j]);
  }
  return bad == 0;
}

bool correct(std::span<const float> gradient, std::span<const float> before,
             std::span<const float> reference, double kept, std::span<float> next) {
  return correct_floats(gradient.data(), before.data(), reference.data(), kept, next.data(),
                        next.size());
}
bool correct(std::span<const double> gradient, std::span<const double> before,
             std::span<const double> reference, double kept, std::span<double> next) {
  return correct_all(gradient.data(), before.data(), reference.data(), kept, next.data(),
                     next.size());
}

}  // namespace ballast::optim
