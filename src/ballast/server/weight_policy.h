#pragma once
// How the server turns counts of accepted updates into the weights that the rule uses.
//
// Weights are whole numbers in units of 1/1024 of an update, so that shares compare exactly.
//
// Thread-safety: immutable values; pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "ballast/base/error.h"

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

using WeightPolicy = std::variant<CountWeights, UniformWeights, CappedWeights>;

// Refuses f = 0, a share outside (0, 1/2), and an f that even all of the workers cannot outweigh.
Status validate(const WeightPolicy& policy, std::size_t worker_count);

// How many workers must have a row before the policy gives weights.
// Requires: a valid policy.
std::size_t quorum(const WeightPolicy& policy) noexcept;

// Writes the weight of each count, 0 for a count of 0. False, and all of them 0, below the quorum.
//
// Requires: a valid policy, as many weights as counts, counts below 2^40.
// Cost: O(m log c) for m counts up to c; allocates m numbers.
bool assign_weights(const WeightPolicy& policy, std::span<const std::uint64_t> counts,
                    std::span<std::uint64_t> weights);

// The share of the `f` heaviest in the sum; 0 if all weights are 0.
double share_of_heaviest(std::size_t f, std::span<const std::uint64_t> weights);

}  // namespace ballast::server
