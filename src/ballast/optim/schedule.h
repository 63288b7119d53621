#pragma once
// Learning-rate schedules: the factor on eta at server step t = 1, 2, ...
//
// A schedule is any callable of that type; it does not throw, and should be a pure function of t,
// so that a server restored from a checkpoint goes on as if it had never stopped.

#include <cstdint>
#include <functional>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::optim {

using RateSchedule = std::function<double(std::uint64_t step)>;

// 1 at every step.
RateSchedule constant_schedule();

struct StepDecay {
  double factor = 0.1;
  std::vector<std::uint64_t> after = {};  // steps after which the rate drops once more
};

// factor^n at step t, where n counts the boundaries below t. Refuses a factor that is not positive
// and finite.
Result<RateSchedule> step_decay(StepDecay decay);

// 1 / sqrt(t).
RateSchedule inverse_sqrt_schedule();

}  // namespace ballast::optim
