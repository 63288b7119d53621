#pragma once
// Private to service/: how long a worker waits for its answers.
//
// Thread-safety: none; one thread at a time.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::service {

// Of the round trips of one period: from the first byte of an update to the next model.
struct RoundTripFigures {
  std::uint64_t count = 0;
  double p50_ms = 0.0;
  double p99_ms = 0.0;
  double max_ms = 0.0;
};

class RoundTrips {
 public:
  using Clock = std::chrono::steady_clock;

  // Zero: nothing is ever told or kept.
  RoundTrips(std::chrono::milliseconds period, Clock::time_point start)
      : period_(period), since_(start) {}

  // One answer came. The figures of a period once it is over; its last answer is part of it.
  std::optional<RoundTripFigures> note(Clock::duration took, Clock::time_point now);

 private:
  std::chrono::milliseconds period_;
  Clock::time_point since_;
  std::vector<double> milliseconds_;
};

}  // namespace ballast::service
