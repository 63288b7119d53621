#pragma once
// How fast this machine can compute at most, for measurements to compare with.

#include <cstddef>

namespace ballast::kernels {

// Fused multiply-adds a second, in double precision, that so many threads reach together on numbers
// in registers, with the instructions that the kernels use. Cost: a tenth of a second.
double measure_peak(std::size_t threads);

}  // namespace ballast::kernels
