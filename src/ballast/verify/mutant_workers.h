#pragma once
// Private to verify/: workers with a planted bug. Each is what a plausible slip would have made of
// the library's own.

#include <functional>

#include "ballast/verify/components.h"

namespace ballast::verify {

// What a worker's estimator does wrong.
struct EstimatorSlip {
  std::function<double(double k)> beta = [](double k) { return 1.0 / k; };
  bool is_point_late = false;    // the previous gradient is taken one step after the model given
  bool is_sample_fresh = false;  // and on another sample
};

Components with_estimator(const EstimatorSlip& slip);

// All workers draw the samples of the first.
Components with_shared_samples();

// Workers work off a queue of models, which is as long as there are workers.
Components with_queued_replies();

// Gradients in fixed point, as a compression with one scale for all models would send them.
Components with_rounded_gradients(double unit);

}  // namespace ballast::verify
