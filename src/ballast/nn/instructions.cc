#include "ballast/nn/instructions.h"

#include <hwy/targets.h>

namespace ballast::nn {

// Highway numbers its targets by bits, the better ones lower.
void limit_to_avx2() { hwy::DisableTargets(HWY_AVX2 - 1); }

}  // namespace ballast::nn
