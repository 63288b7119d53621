#include "ballast/server/weight_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
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

// The largest cut at which every cap holds.
//
// Let H(c) and S(c) be the sums of min(w_i, c) over the f heaviest and over all workers. H / S
// never falls when c rises: with n workers above c, one unit more adds min(n, f) to H and n to S.
// - If n <= f, both grow by the same number, and a ratio of at most 1 does not fall.
// - If n > f, the f heaviest are all cut, so H(c) = f c, and S(c) >= n c. What is added has the
//   ratio f / n >= H(c) / S(c), and adding a part of a higher ratio does not lower the whole.
// So the cuts at which cap j holds are those up to a largest one, c_j, and all caps hold exactly at
// the cuts up to min_j c_j. The largest common cut is therefore the smallest of the caps' own;
// there is nothing to iterate. Bisecting the conjunction finds it as well as a minimum would, and
// makes every cap's own comparison at the very cut that is returned, whatever rounding does.
std::uint64_t largest_cut(std::span<const CappedWeights> caps, Counts heaviest_first) {
  std::uint64_t holds = 0, fails = heaviest_first.front() + 1;
  while (fails - holds > 1) {
    const std::uint64_t middle = holds + (fails - holds) / 2;
    const bool all_hold = std::ranges::all_of(
        caps, [&](const CappedWeights& cap) { return holds_at(middle, cap, heaviest_first); });
    (all_hold ? holds : fails) = middle;
  }
  return holds;
}

std::vector<std::uint64_t> sorted_down(Counts weights) {
  std::vector<std::uint64_t> sorted(weights.begin(), weights.end());
  std::ranges::sort(sorted, std::greater<>());
  return sorted;
}

std::size_t quorum_of_cap(const CappedWeights& cap) noexcept {
  auto workers = static_cast<std::size_t>(static_cast<double>(cap.f) / cap.share);
  // The same comparison that the cap makes, so that rounding cannot set the two apart.
  while (static_cast<double>(cap.f) > cap.share * static_cast<double>(workers)) ++workers;
  return workers;
}

Status validate_cap(const CappedWeights& cap, std::size_t worker_count) {
  if (cap.f == 0) return invalid_argument("the f-cap needs f >= 1; without f use the counts");
  if (!(cap.share > 0.0 && cap.share < 0.5)) {
    return invalid_argument(
        fmt::format("the f-cap's share is {}; it must lie between 0 and 1/2", cap.share));
  }
  // In doubles: the quorum of a share such as 1e-300 fits no integer.
  if (static_cast<double>(cap.f) <= cap.share * static_cast<double>(worker_count)) return {};
  constexpr double kTold = 1e9;
  const bool is_told = static_cast<double>(cap.f) < cap.share * kTold;
  return invalid_argument(fmt::format(
      "no cap keeps {} of {} workers below a share of {}; use {}a smaller f or a larger share",
      cap.f, worker_count, cap.share,
      is_told ? fmt::format("at least {} workers, ", quorum_of_cap(cap)) : ""));
}

using expression::Arguments;
using expression::Parameter;
using WeightItem = expression::Item<WeightPolicy>;

constexpr WeightItem kCount = {
    {.name = "count", .help = "the number of accepted updates", .paper = "Dahan and Levy 2024"},
    [](const Arguments&) -> Result<WeightPolicy> { return CountWeights{}; }};

constexpr WeightItem kUniform = {
    {.name = "uniform", .help = "1 for every worker that has sent an update"},
    [](const Arguments&) -> Result<WeightPolicy> { return UniformWeights{}; }};

constexpr Parameter kCapParameters[] = {
    Parameter::whole("f", "how many workers are capped together").from(1).otherwise(1),
    Parameter::number("share", "what the f heaviest hold at most")
        .above(0)
        .below(0.5)
        .otherwise(0.2)};

constexpr WeightItem kCap = {
    {.name = "f-cap",
     .help = "the count, cut so that the f heaviest workers hold at most a share of the weight",
     .parameters = kCapParameters,
     .can_be_joined = true},
    [](const Arguments& arguments) -> Result<WeightPolicy> {
      return CappedWeights{.f = arguments.whole("f"), .share = arguments.number("share")};
    }};

// One line per policy.
constexpr const WeightItem* kItems[] = {
    &kCount,
    &kUniform,
    &kCap,
};

}  // namespace

const expression::Registry<WeightPolicy>& weight_registry() {
  static const expression::Registry<WeightPolicy> registry(
      {.noun = "weight policy", .plural = "weights", .example = "count or f-cap(1, 0.2)"}, kItems);
  return registry;
}

Result<WeightPolicy> parse_weight_policy(std::string_view text) {
  BALLAST_TRY(std::vector<WeightPolicy> parts, weight_registry().parse_all(text));
  if (parts.size() == 1) return std::move(parts.front());
  SeveralCaps several;
  // Only caps can be joined, so the registry has refused anything else.
  for (const WeightPolicy& part : parts) several.caps.push_back(std::get<CappedWeights>(part));
  return several;
}

std::span<const CappedWeights> caps_of(const WeightPolicy& policy) noexcept {
  if (const auto* cap = std::get_if<CappedWeights>(&policy)) return {cap, 1};
  if (const auto* several = std::get_if<SeveralCaps>(&policy)) return several->caps;
  return {};
}

const CappedWeights* widest_cap(const WeightPolicy& policy) noexcept {
  const auto caps = caps_of(policy);
  const auto widest = std::ranges::max_element(caps, [](const auto& left, const auto& right) {
    return left.f != right.f ? left.f < right.f : left.share > right.share;
  });
  return widest == caps.end() ? nullptr : &*widest;
}

Status validate(const WeightPolicy& policy, std::size_t worker_count) {
  for (const CappedWeights& cap : caps_of(policy)) {
    BALLAST_TRY_STATUS(validate_cap(cap, worker_count));
  }
  return {};
}

std::size_t quorum(const WeightPolicy& policy) noexcept {
  std::size_t needed = 1;
  for (const CappedWeights& cap : caps_of(policy)) needed = std::max(needed, quorum_of_cap(cap));
  return needed;
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
  if (const auto caps = caps_of(policy); !caps.empty()) {
    const std::uint64_t cut = largest_cut(caps, sorted_down(weights));
    for (std::uint64_t& weight : weights) weight = std::min(weight, cut);
  }
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
