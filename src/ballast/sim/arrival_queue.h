#pragma once
// Private to sim/: the arrivals of a run in the order in which they are delivered. That is the
// order of the list, but for Byzantine arrivals that the adversary holds back: they wait in a queue
// of their own and come later, never earlier, so the Byzantine share of the first t arrivals is at
// most that of the list. When the list is over, what waits comes at last.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/sim/arrival.h"

namespace ballast::sim {

class ArrivalQueue {
 public:
  // The list is borrowed.
  ArrivalQueue(std::span<const Arrival> arrivals, const Population& workers)
      : arrivals_(arrivals), workers_(workers) {}

  // Takes the arrival that comes next; its place in the list. `holds(worker)` says whether the
  // oldest of those that may wait does; it is asked anew whenever another arrival has come or has
  // begun to wait.
  // Requires: is_over() is false.
  template <typename Holds>
  std::size_t take(const Holds& holds) {
    while (true) {
      const bool is_list_over = next_ == arrivals_.size();
      if (!held_.empty() && (is_list_over || !holds(arrivals_[held_.front()].worker))) {
        const std::size_t place = held_.front();
        held_.pop_front();
        return place;
      }
      const std::size_t place = next_++;
      if (!workers_.is_byzantine(arrivals_[place].worker)) return place;
      held_.push_back(place);
    }
  }

  bool is_over() const noexcept { return next_ == arrivals_.size() && held_.empty(); }

  // The time of the last arrival of the list that was looked at: what is held comes late.
  Instant now() const noexcept { return next_ == 0 ? Instant::zero() : arrivals_[next_ - 1].at; }

  std::size_t held_count() const noexcept { return held_.size(); }

  // Of each worker, whether an arrival is still to come.
  std::vector<bool> who_comes_again() const;

  // Goes on after so many arrivals were taken while so many wait. Refuses numbers that cannot be.
  Status restore(std::uint64_t taken, std::uint64_t held);

 private:
  std::span<const Arrival> arrivals_;
  Population workers_;
  std::size_t next_ = 0;          // of the list
  std::deque<std::size_t> held_;  // places in the list, all before next_
};

}  // namespace ballast::sim
