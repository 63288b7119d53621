#pragma once
// Private to simulate/: virtual time. Things happen in the order of their times, and of two at the
// same time the one first that was planned first.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "ballast/server/update.h"

namespace ballast::simulate {

class Timeline {
 public:
  using Time = server::Instant;

  Time now() const noexcept { return now_; }
  bool is_empty() const noexcept { return plans_.empty(); }

  void after(Time delay, std::function<void()> action) {
    plans_.push({now_ + delay, next_++, std::move(action)});
  }

  // Time passes; what was planned meanwhile happens late.
  void pass(Time time) { now_ += time; }

  // Requires: not empty.
  void run_one() {
    const Plan plan = plans_.top();
    plans_.pop();
    now_ = std::max(now_, plan.time);
    plan.action();
  }

 private:
  struct Plan {
    Time time;
    std::uint64_t number;
    std::function<void()> action;
    bool operator<(const Plan& other) const noexcept {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };

  Time now_{};
  std::uint64_t next_ = 0;
  std::priority_queue<Plan> plans_;
};

}  // namespace ballast::simulate
