#include <algorithm>

#include "ballast/base/ieee_arithmetic.h"
#include "ballast/base/parallel.h"

namespace ballast {

void run_indexed(std::size_t threads, std::size_t count, IndexedTask task, void* context) {
  const int team = static_cast<int>(std::min(threads, count));
  if (team <= 1) {
    const IeeeArithmetic ieee;
    for (std::size_t index = 0; index < count; ++index) task(context, index);
    return;
  }
#pragma omp parallel num_threads(team)
  {
    const IeeeArithmetic ieee;
#pragma omp for schedule(dynamic)
    for (std::size_t index = 0; index < count; ++index) task(context, index);
  }
}

}  // namespace ballast
