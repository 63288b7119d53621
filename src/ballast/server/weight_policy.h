#pragma once
// How the server turns counts of accepted updates into the weights that the rule uses.
//
// Weights are whole numbers in units of 1/1024 of an update, so that shares compare exactly.
//
// Thread-safety: immutable values; pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/registry.h"

namespace ballast::server {

inline constexpr std::uint64_t kWeightUnits = 1024;  // of one update

// The count itself (Dahan and Levy 2024).
struct CountWeights {};

// The same for every worker that has a row: what the rule is without the paper's weights.
struct UniformWeights {};

// The f-cap: the count, cut at the largest cap c for which the f heaviest workers together hold at
// most `share` of the weight. Whatever speed f Byzantine workers have, their weight stays below the
// share that the rule is built for. Such a cap exists as soon as f <= share * (workers with a row),
// because equal weights then satisfy it; before, the server collects rows without stepping.
struct CappedWeights {
  std::size_t f = 1;
  double share = 1.0 / 3.0;
};

// Several f-caps at once: the counts, cut at the largest cap for which every one of them holds. One
// worker at most 0.2 and eight at most 0.45, say.
struct SeveralCaps {
  std::vector<CappedWeights> caps;
};

using WeightPolicy = std::variant<CountWeights, UniformWeights, CappedWeights, SeveralCaps>;

// Every policy by name.
const expression::Registry<WeightPolicy>& weight_registry();

// The policy that a text such as "count" or "f-cap(1, 0.2) & f-cap(8, 0.45)" names.
Result<WeightPolicy> parse_weight_policy(std::string_view text);

// Its caps: none, one or several. Valid as long as the policy.
std::span<const CappedWeights> caps_of(const WeightPolicy& policy) noexcept;

// The cap on the most workers, of these the one with the smallest share; nothing without caps. Its
// f is how many Byzantine workers the policy is made for, its share what they can hold together.
const CappedWeights* widest_cap(const WeightPolicy& policy) noexcept;

// Refuses f = 0, a share outside (0, 1/2), and an f that even all of the workers cannot outweigh.
Status validate(const WeightPolicy& policy, std::size_t worker_count);

// How many workers must have a row before the policy gives weights: what the caps need, the largest
// of theirs.
// Requires: a valid policy.
std::size_t quorum(const WeightPolicy& policy) noexcept;

// Writes the weight of each count, 0 for a count of 0. False, and all of them 0, below the quorum.
//
// Requires: a valid policy, as many weights as counts, counts below 2^40.
// Cost: O(m log c) for m counts up to c and each cap; allocates m numbers.
bool assign_weights(const WeightPolicy& policy, std::span<const std::uint64_t> counts,
                    std::span<std::uint64_t> weights);

// The share of the `f` heaviest in the sum; 0 if all weights are 0.
double share_of_heaviest(std::size_t f, std::span<const std::uint64_t> weights);

}  // namespace ballast::server
