#include "ballast/optim/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::optim {

RateSchedule constant_schedule() {
  return [](std::uint64_t) { return 1.0; };
}

Result<RateSchedule> step_decay(StepDecay decay) {
  if (!(decay.factor > 0.0) || !std::isfinite(decay.factor)) {
    return invalid_argument(
        fmt::format("the decay factor is {}; it must be positive and finite", decay.factor));
  }
  return [decay = std::move(decay)](std::uint64_t step) {
    const auto drops = std::ranges::count_if(
        decay.after, [step](std::uint64_t boundary) { return boundary < step; });
    return std::pow(decay.factor, static_cast<double>(drops));
  };
}

RateSchedule inverse_sqrt_schedule() {
  return [](std::uint64_t step) { return 1.0 / std::sqrt(static_cast<double>(step)); };
}

}  // namespace ballast::optim
