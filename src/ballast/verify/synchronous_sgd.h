#pragma once
// Synchronous robust mu^2-SGD (Dahan and Levy 2024, "Fault Tolerant ML"), the yardstick of the
// remark on the synchronous case: in each round all workers compute at one model, and one step is
// taken. Plain, without the library's server and workers; the rule is the library's own.

#include <cstddef>
#include <cstdint>
#include <string>

#include "ballast/sim/arrival.h"
#include "ballast/verify/problem.h"

namespace ballast::verify {

struct SynchronousOptions {
  sim::Population workers = {};  // Byzantine ones flip the sign of their estimate
  std::string rule = "mean";
  std::size_t rounds = 1;  // R
  std::uint64_t seed = 1;
};

// f(x_R) - f(x*), with eta = 1 / (4 L R).
Result<double> synchronous_excess(Problem& problem, const SynchronousOptions& options);

}  // namespace ballast::verify
