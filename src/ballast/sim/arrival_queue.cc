#include "ballast/sim/arrival_queue.h"

namespace ballast::sim {

std::vector<bool> ArrivalQueue::who_comes_again() const {
  std::vector<bool> comes(workers_.total());
  for (const Arrival& arrival : arrivals_.subspan(next_)) comes[arrival.worker] = true;
  for (const std::size_t place : held_) comes[arrivals_[place].worker] = true;
  return comes;
}

// Those that wait are the last Byzantine ones of what was looked at, because the oldest goes first.
Status ArrivalQueue::restore(std::uint64_t taken, std::uint64_t held) {
  if (taken > arrivals_.size() || held > arrivals_.size() - taken) {
    return invalid_argument("the saved run has more arrivals than this one");
  }
  next_ = taken + held;
  held_.clear();
  for (std::size_t place = next_; place-- > 0 && held_.size() < held;) {
    if (workers_.is_byzantine(arrivals_[place].worker)) held_.push_front(place);
  }
  if (held_.size() == held) return {};
  return invalid_argument("the saved run holds more arrivals back than were Byzantine");
}

}  // namespace ballast::sim
