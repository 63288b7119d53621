#pragma once
// Private to optim/: the loops over all coordinates, each with its check, in one pass. Arithmetic
// is in double; multiplication and addition round separately, so every instruction set gives the
// same bits.
//
// All return whether every result is finite. Requires: spans of one length that do not overlap.

#include <span>

namespace ballast::optim {

// next = w - rate * direction.
bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next);
bool descend(std::span<const double> w, std::span<const double> direction, double rate,
             std::span<double> next);

// next = share * newest + (1 - share) * before.
bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next);
bool average(std::span<const double> newest, std::span<const double> before, double share,
             std::span<double> next);

// next_w = w - rate * direction and next_x = share * next_w + (1 - share) * x: both of the above,
// with the same bits, in one pass.
bool descend_and_average(std::span<const float> w, std::span<const float> direction, double rate,
                         std::span<const float> x, double share, std::span<float> next_w,
                         std::span<float> next_x);
bool descend_and_average(std::span<const double> w, std::span<const double> direction, double rate,
                         std::span<const double> x, double share, std::span<double> next_w,
                         std::span<double> next_x);

// next = gradient + kept * (before - reference).
bool correct(std::span<const float> gradient, std::span<const float> before,
             std::span<const float> reference, double kept, std::span<float> next);
bool correct(std::span<const double> gradient, std::span<const double> before,
             std::span<const double> reference, double kept, std::span<double> next);

}  // namespace ballast::optim
