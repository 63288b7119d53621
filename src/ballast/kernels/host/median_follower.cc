#include "ballast/kernels/host/median_follower.h"

#include <algorithm>

namespace ballast::kernels::host {
namespace {

// How much may be lost again of what was gained, as the share of columns that are looked at.
constexpr double kGainMax = 0.3;
constexpr unsigned kSearchesBetweenMin = 8;
constexpr unsigned kSearchesBetweenMax = 256;

}  // namespace

// Whether only the weight of the single changed row differs from the last call.
bool MedianFollower::follows(const Weights& weights, const RowChanges& changes) const noexcept {
  const auto row = changes.single();
  const bool fits = state_.is_packed() == (weights.total() < MedianState::kPackedTotalEnd);
  if (!has_state_ || !row || !fits || !weights.is_narrow()) return false;
  if (weights.size() != weights_.size()) return false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i != *row && weights.units()[i] != weights_.units()[i]) return false;
  }
  return true;
}

// A heavy row moves more medians than others, so one update alone does not decide.
void MedianFollower::note_gain(double gain) noexcept {
  gain_ = std::min(gain_ + gain, kGainMax);
  has_state_ = gain_ >= 0.0;
  if (has_state_ && gain >= 0.0) searches_between_ = kSearchesBetweenMin;
  if (has_state_) return;
  searches_between_ = std::min(2 * searches_between_, kSearchesBetweenMax);
  searches_left_ = searches_between_;
}

void MedianFollower::search(RowsView rows, const Weights& weights, const Primitives& primitives) {
  const bool remembers = searches_left_ == 0 && weights.is_narrow();
  if (!remembers && searches_left_ > 0) --searches_left_;
  if (median_.size() == 0) {
    median_.resize(rows.dim());
    primitives.weighted_median(rows, weights, median_.values());
    if (!remembers) return;
  }
  primitives.refine_median(rows, weights, median_.values(), remembers ? &state_ : nullptr);
  has_state_ = remembers;
  gain_ = 0.0;
}

const HostVector& MedianFollower::update(RowsView rows, const Weights& weights,
                                         const RowChanges& changes,
                                         std::span<const float> old_values,
                                         const Primitives& primitives) {
  if (median_.size() > 0 && changes.is_none() && weights == weights_) return median_;
  if (follows(weights, changes)) {
    const std::size_t row = *changes.single();
    const RowChange change{row, old_values, static_cast<std::uint32_t>(weights_.units()[row])};
    note_gain(primitives.update_median(rows, weights, change, median_.values(), state_));
  } else {
    has_state_ = false;
    search(rows, weights, primitives);
  }
  weights_ = weights;
  return median_;
}

}  // namespace ballast::kernels::host
