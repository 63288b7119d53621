#pragma once
// Private to optim/: the loops over all coordinates, each with its check, in one pass. Arithmetic
// is in double; multiplication and addition round separately, so every instruction set gives the
// same bits. The steps in float are the backends' (kernels/backend.h).
//
// All return whether every result is finite. Requires: spans of one length that do not overlap.

#include <span>

namespace ballast::optim {

// next = w - rate * direction.
bool descend(std::span<const double> w, std::span<const double> direction, double rate,
             std::span<double> next);

// next = share * newest + (1 - share) * before.
bool average(std::span<const double> newest, std::span<const double> before, double share,
             std::span<double> next);

// next = gradient + kept * (before - reference).
bool correct(std::span<const float> gradient, std::span<const float> before,
             std::span<const float> reference, double kept, std::span<float> next);
bool correct(std::span<const double> gradient, std::span<const double> before,
             std::span<const double> reference, double kept, std::span<double> next);

}  // namespace ballast::optim
