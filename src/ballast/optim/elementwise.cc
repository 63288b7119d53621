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
[[gnu::always_inline]] inline bool descend_all(const Real* w, const Real* direction, double rate,
                                               Real* __restrict next, std::size_t count) {
  int bad = 0;
  for (std::size_t j = 0; j < count; ++j) {
    next[j] = static_cast<Real>(w[j] - rate * direction[j]);
    bad |= is_bad(next[j]);
  }
  return bad == 0;
}

template <typename Real>
[[gnu::always_inline]] inline bool average_all(const Real* newest, const Real* before, double share,
                                               Real* __restrict next, std::size_t count) {
  int bad = 0;
  for (std::size_t j = 0; j < count; ++j) {
    next[j] = static_cast<Real>(share * newest[j] + (1.0 - share) * before[j]);
    bad |= is_bad(next[j]);
  }
  return bad == 0;
}

// The vectors of one step of a server that averages its iterates.
template <typename Real>
struct StepVectors {
  const Real *w, *direction, *x;
  Real* __restrict next_w;
  Real* __restrict next_x;
  std::size_t count;
};

template <typename Real>
[[gnu::always_inline]] inline bool step_all(const StepVectors<Real>& v, double rate, double share) {
  Real* __restrict next_w = v.next_w;
  Real* __restrict next_x = v.next_x;
  int bad = 0;
  for (std::size_t j = 0; j < v.count; ++j) {
    const auto moved = static_cast<Real>(v.w[j] - rate * v.direction[j]);
    const auto averaged = static_cast<Real>(share * moved + (1.0 - share) * v.x[j]);
    bad |= is_bad(moved) | is_bad(averaged);
    next_w[j] = moved;
    next_x[j] = averaged;
  }
  return bad == 0;
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

BALLAST_CLONES bool descend_floats(const float* w, const float* direction, double rate, float* next,
                                   std::size_t count) {
  return descend_all(w, direction, rate, next, count);
}

BALLAST_CLONES bool average_floats(const float* newest, const float* before, double share,
                                   float* next, std::size_t count) {
  return average_all(newest, before, share, next, count);
}

BALLAST_CLONES bool step_floats(const StepVectors<float>& vectors, double rate, double share) {
  return step_all(vectors, rate, share);
}

BALLAST_CLONES bool correct_floats(const float* gradient, const float* before,
                                   const float* reference, double kept, float* next,
                                   std::size_t count) {
  return correct_all(gradient, before, reference, kept, next, count);
}

}  // namespace

bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next) {
  return descend_floats(w.data(), direction.data(), rate, next.data(), next.size());
}
bool descend(std::span<const double> w, std::span<const double> direction, double rate,
             std::span<double> next) {
  return descend_all(w.data(), direction.data(), rate, next.data(), next.size());
}

bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next) {
  return average_floats(newest.data(), before.data(), share, next.data(), next.size());
}
bool average(std::span<const double> newest, std::span<const double> before, double share,
             std::span<double> next) {
  return average_all(newest.data(), before.data(), share, next.data(), next.size());
}

bool descend_and_average(std::span<const float> w, std::span<const float> direction, double rate,
                         std::span<const float> x, double share, std::span<float> next_w,
                         std::span<float> next_x) {
  return step_floats({w.data(), direction.data(), x.data(), next_w.data(), next_x.data(), w.size()},
                     rate, share);
}
bool descend_and_average(std::span<const double> w, std::span<const double> direction, double rate,
                         std::span<const double> x, double share, std::span<double> next_w,
                         std::span<double> next_x) {
  return step_all<double>(
      {w.data(), direction.data(), x.data(), next_w.data(), next_x.data(), w.size()}, rate, share);
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
