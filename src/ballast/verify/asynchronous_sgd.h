#pragma once
// Asynchronous SGD, the yardstick at lambda = 0 (Arjevani et al. 2020): each arriving gradient,
// however stale, is one projected step, and the result is the mean of the iterates. Plain, without
// the library's server.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ballast/verify/rates.h"

namespace ballast::verify {

// The excess losses after each number of updates and for the seeds 1, 2, ..., with the step that
// balances the two terms of its bound: min(1 / (4 L m), D / (sigma sqrt(T))). Arrivals are those of
// the trial options; there are no bounds in the result.
Result<RateCurve> measure_asynchronous_sgd(const Lab& lab, Problem& problem,
                                           const TrialOptions& options,
                                           const std::vector<std::uint64_t>& updates,
                                           std::size_t seeds);

}  // namespace ballast::verify
