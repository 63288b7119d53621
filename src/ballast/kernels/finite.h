#pragma once
// Whether values in host memory are all finite numbers, on the calling thread. For rows of a table
// see Backend::all_finite and Table::put.

#include <span>

namespace ballast::kernels {

// True if no value is NaN or infinite. Cost: one pass, as fast as memory is read.
bool all_finite(std::span<const float> values);
bool all_finite(std::span<const double> values);

}  // namespace ballast::kernels
