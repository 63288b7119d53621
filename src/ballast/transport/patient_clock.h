#pragma once
// The time by which workers are held to be silent: it passes only while the server listens. After a
// step, a checkpoint or a pause of the whole process that took longer than a stride, no more than
// the stride has passed, so that nobody is blamed for what the server itself has missed.
//
// Thread-safety: none; the state thread has one.

#include <algorithm>
#include <chrono>

#include "ballast/server/update.h"

namespace ballast::transport {

class PatientClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  PatientClock(Time start, std::chrono::milliseconds stride) : last_(start), stride_(stride) {}

  // The time that has counted since the start. To be asked often: at least once in a stride while
  // the server listens. Never goes back.
  server::Instant at(Time now) {
    const auto elapsed = std::max(now - last_, Time::duration::zero());
    counted_ += std::min<Time::duration>(elapsed, stride_);
    last_ = std::max(last_, now);
    return std::chrono::duration_cast<server::Instant>(counted_);
  }

 private:
  Time last_;
  std::chrono::milliseconds stride_;
  Time::duration counted_{};
};

}  // namespace ballast::transport
