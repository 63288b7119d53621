#include "ballast/robust/median_follower.h"

#include <algorithm>

namespace ballast::robust {
namespace {

// If more than this share of the columns had to be read, a plain search would have been as cheap:
// they are spread over more than half of the cache lines.
constexpr double kReadShareMax = 0.05;
constexpr unsigned kSearchesBetweenMin = 8;
constexpr unsigned kSearchesBetweenMax = 256;

}  // namespace

// Whether only the weight of the single changed row differs from the last call.
bool MedianFollower::follows(const kernels::Weights& weights,
                             const RowChanges& changes) const noexcept {
  const auto row = changes.single();
  const bool fits = state_.is_packed() == (weights.total() < kernels::MedianState::kPackedTotalEnd);
  if (!has_state_ || !row || !fits || !weights.is_narrow()) return false;
  if (weights.size() != weights_.size()) return false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i != *row && weights.units()[i] != weights_.units()[i]) return false;
  }
  return true;
}

void MedianFollower::search(kernels::RowsView rows, const kernels::Weights& weights,
                            const kernels::Backend& backend) {
  const bool remembers = searches_left_ == 0 && weights.is_narrow();
  if (!remembers && searches_left_ > 0) --searches_left_;
  if (median_.empty()) {
    median_.resize(rows.dim());
    backend.weighted_median(rows, weights, median_);
    if (!remembers) return;
  }
  backend.refine_median(rows, weights, median_, remembers ? &state_ : nullptr);
  has_state_ = remembers;
}

std::span<const float> MedianFollower::update(kernels::RowsView rows,
                                              const kernels::Weights& weights,
                                              const RowChanges& changes,
                                              std::span<const float> old_values,
                                              const kernels::Backend& backend) {
  if (!median_.empty() && changes.is_none() && weights == weights_) return median_;
  if (follows(weights, changes)) {
    const std::size_t row = *changes.single();
    const kernels::RowChange change{row, old_values,
                                    static_cast<std::uint32_t>(weights_.units()[row])};
    const double read = backend.update_median(rows, weights, change, median_, state_);
    const bool pays = read <= kReadShareMax;
    searches_between_ =
        pays ? kSearchesBetweenMin : std::min(2 * searches_between_, kSearchesBetweenMax);
    searches_left_ = pays ? 0 : searches_between_;
    has_state_ = pays;
  } else {
    has_state_ = false;
    search(rows, weights, backend);
  }
  weights_ = weights;
  return median_;
}

}  // namespace ballast::robust
