#pragma once
// A deadline for gRPC by the clock that never jumps.

#include <grpc/support/time.h>

#include <chrono>

namespace ballast::transport {

inline gpr_timespec deadline_after(std::chrono::milliseconds wait) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(wait.count(), GPR_TIMESPAN));
}

}  // namespace ballast::transport
