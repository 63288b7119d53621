#pragma once
// Where aggregation runs.

#include <cstddef>
#include <string>

namespace ballast {

// No result depends on the number of threads; medians are the same bits on every device, sums may
// differ in their last digits.
struct Compute {
  std::string device = "cpu";  // "cpu", "reference" (plain and slow), "cuda" where there is one
  std::size_t threads = 1;     // of the CPU; 0: all it has
};

}  // namespace ballast
