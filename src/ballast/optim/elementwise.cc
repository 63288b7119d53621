#include "ballast/optim/elementwise.h"

#include <cstddef>

#include "ballast/base/target_clones.h"
#include "ballast/kernels/finite.h"

namespace ballast::optim {
namespace {

template <typename Real>
[[gnu::always_inline]] inline bool correct_all(const Real* gradient, const Real* before,
                                               const Real* reference, double kept,
                                               Real* __restrict next, std::size_t count) {
  kernels::FiniteCheck<Real> check;
  for (std::size_t j = 0; j < count; ++j) {
    const double old = before[j];
    next[j] = static_cast<Real>(gradient[j] + kept * (old - reference[j]));
    check.see(next[j]);
  }
  return check.holds();
}

BALLAST_CLONES bool correct_floats(const float* gradient, const float* before,
                                   const float* reference, double kept, float* next,
                                   std::size_t count) {
  return correct_all(gradient, before, reference, kept, next, count);
}

}  // namespace

bool descend(std::span<const double> w, std::span<const double> direction, double rate,
             std::span<double> next) {
  kernels::FiniteCheck<double> check;
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = w[j] - rate * direction[j];
    check.see(next[j]);
  }
  return check.holds();
}

bool average(std::span<const double> newest, std::span<const double> before, double share,
             std::span<double> next) {
  kernels::FiniteCheck<double> check;
  for (std::size_t j = 0; j < next.size(); ++j) {
    next[j] = share * newest[j] + (1.0 - share) * before[j];
    check.see(next[j]);
  }
  return check.holds();
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
