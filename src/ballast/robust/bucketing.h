#pragma once
// bucketing(BASE, S): random buckets of S rows, then BASE (Karimireddy et al. 2022), in weighted
// form.
//
// The rows are shuffled and cut into buckets of S, the last one perhaps smaller. A bucket's value
// is the mean of its rows by weight, its weight the mean of their weights; BASE aggregates the
// buckets. Equal weights give the original, in which all buckets count alike. The permutation is a
// function of (seed, draw): a server passes the model version as the draw, so that runs repeat.

#include <cstdint>

#include "ballast/robust/rule.h"

namespace ballast::robust {

// Requires: size >= 1.
RulePointer make_bucketing(RulePointer base, std::size_t size, std::uint64_t seed);

}  // namespace ballast::robust
