#pragma once
// How many log lines each worker may cause. A worker that is refused, or comes
// and goes, as fast as it can would else fill the disk.
//
// Thread-safety: none; one thread at a time. Time is an argument.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::service {

class LogLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // So many lines at once, then one for each of these pauses.
  static constexpr int kBurst = 20;
  static constexpr std::chrono::seconds kPause{5};

  explicit LogLimiter(std::size_t worker_count) : accounts_(worker_count) {}

  // How many lines of this worker were left out since its last one; none: leave this one out too.
  //
  // Requires: worker < worker_count; times do not go back.
  std::optional<std::uint64_t> spend(std::uint32_t worker, Time now);

 private:
  struct Account {
    std::chrono::duration<double> credit = kBurst * kPause;
    Time since{};
    std::uint64_t left_out = 0;
  };
  std::vector<Account> accounts_;
};

}  // namespace ballast::service
