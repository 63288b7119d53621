#include "ballast/service/round_trips.h"

#include <algorithm>
#include <cmath>

namespace ballast::service {
namespace {

// The smallest value that so large a part of all does not exceed. Requires: sorted, not empty.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = std::ceil(part * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
}

}  // namespace

std::optional<RoundTripFigures> RoundTrips::note(Clock::duration took, Clock::time_point now) {
  if (period_ == std::chrono::milliseconds::zero()) return std::nullopt;
  milliseconds_.push_back(std::chrono::duration<double, std::milli>(took).count());
  if (now - since_ < period_) return std::nullopt;
  std::ranges::sort(milliseconds_);
  const RoundTripFigures figures{.count = milliseconds_.size(),
                                 .p50_ms = quantile(milliseconds_, 0.5),
                                 .p99_ms = quantile(milliseconds_, 0.99),
                                 .max_ms = milliseconds_.back()};
  milliseconds_.clear();
  since_ = now;
  return figures;
}

}  // namespace ballast::service
