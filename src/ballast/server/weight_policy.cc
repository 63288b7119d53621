#include "ballast/server/weight_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "ballast/base/check.h"

namespace ballast::server {
namespace {

using Counts = std::span<const std::uint64_t>;

// Sums of the heaviest and of all, each weight cut at the cap.
struct CappedSums {
  std::uint64_t heaviest = 0;
  std::uint64_t all = 0;
};

// Requires: heaviest first.
CappedSums sums_at(std::uint64_t cap, std::size_t f, Counts weights) {
  CappedSums sums;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::uint64_t weight = std::min(weights[i], cap);
    sums.all += weight;
    if (i < f) sums.heaviest += weight;
  }
  return sums;
}

bool holds_at(std::uint64_t cap, const CappedWeights& policy, Counts weights) {
  const CappedSums sums = sums_at(cap, policy.f, weights);
  return static_cast<double>(sums.heaviest) <= policy.share * static_cast<double>(sums.all);
}

// The share of the heaviest never falls when the cap rises, so the caps that hold are a prefix.
std::uint64_t largest_cap(const CappedWeights& policy, Counts heaviest_first) {
  std::uint64_t holds = 0, fails = heaviest_first.front() + 1;
  while (fails - holds > 1) {
    const std::uint64_t middle = holds + (fails - holds) / 2;
    (holds_at(middle, policy, heaviest_first) ? holds : fails) = middle;
  }
  return holds;
}

std::vector<std::uint64_t> sorted_down(Counts weights) {
  std::vector<std::uint64_t> sorted(weights.begin(), weights.end());
  std::ranges::sort(sorted, std::greater<>());
  return sorted;
}

void cap(const CappedWeights& policy, std::span<std::uint64_t> weights) {
  const std::uint64_t largest = largest_cap(policy, sorted_down(weights));
  for (std::uint64_t& weight : weights) weight = std::min(weight, largest);
}

}  // namespace

Status validate(const WeightPolicy& policy, std::size_t worker_count) {
  const auto* capped = std::get_if<CappedWeights>(&policy);
  if (capped == nullptr) return {};
  if (capped->f == 0) return invalid_argument("the f-cap needs f >= 1; without f use the counts");
  if (!(capped->share > 0.0 && capped->share < 0.5)) {
    return invalid_argument(
        fmt::format("the f-cap's share is {}; it must lie between 0 and 1/2", capped->share));
  }
  if (quorum(policy) > worker_count) {
    return invalid_argument(fmt::format(
        "no cap keeps {} of {} workers below a share of {}; use at least {} workers, a smaller f "
        "or a larger share",
        capped->f, worker_count, capped->share, quorum(policy)));
  }
  return {};
}

std::size_t quorum(const WeightPolicy& policy) noexcept {
  const auto* capped = std::get_if<CappedWeights>(&policy);
  if (capped == nullptr) return 1;
  auto workers = static_cast<std::size_t>(static_cast<double>(capped->f) / capped->share);
  // The same comparison that the cap makes, so that rounding cannot set the two apart.
  while (static_cast<double>(capped->f) > capped->share * static_cast<double>(workers)) ++workers;
  return std::max(workers, std::size_t{1});
}

bool assign_weights(const WeightPolicy& policy, Counts counts, std::span<std::uint64_t> weights) {
  BALLAST_CHECK(counts.size() == weights.size(), "one weight per count");
  const auto active = counts.size() - static_cast<std::size_t>(std::ranges::count(counts, 0u));
  if (active < quorum(policy)) {
    std::ranges::fill(weights, 0u);
    return false;
  }
  const bool is_uniform = std::holds_alternative<UniformWeights>(policy);
  std::ranges::transform(counts, weights.begin(), [&](std::uint64_t count) {
    return kWeightUnits * (is_uniform ? std::min<std::uint64_t>(count, 1) : count);
  });
  if (const auto* capped = std::get_if<CappedWeights>(&policy)) cap(*capped, weights);
  return true;
}

double share_of_heaviest(std::size_t f, Counts weights) {
  const std::vector<std::uint64_t> sorted = sorted_down(weights);
  const auto first = sorted.begin(), last = first + std::ptrdiff_t(std::min(f, sorted.size()));
  const auto all = std::accumulate(first, sorted.end(), std::uint64_t{0});
  if (all == 0) return 0.0;
  return static_cast<double>(std::accumulate(first, last, std::uint64_t{0})) /
         static_cast<double>(all);
}

}  // namespace ballast::server
